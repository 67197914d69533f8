import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const root = join(import.meta.dirname, "..");

/** A published package of this repository. */
export interface PublishedPackage {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  /** Relative to the root of the repository. */
  readonly folder: string;
  readonly exports: Readonly<Record<string, { readonly default: string }>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** All published packages, by their folders. Private ones serve only our own tests. */
export function publishedPackages(): PublishedPackage[] {
  return globSync("{packages/*,conformance-tests}/package.json", { cwd: root })
    .sort()
    .map((path) => ({ ...JSON.parse(readFileSync(join(root, path), "utf8")), folder: dirname(path) }))
    .filter((manifest) => !manifest.private);
}
