import { globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { root } from "./places.ts";

export interface EntryPoint {
  /** The name in an import. */
  readonly name: string;
  /** The path of the source file in the repository. */
  readonly file: string;
  /** The purpose of the package, at its main entry point. */
  readonly description?: string;
}

/** Each entry point of each published package, without those that only our own packages use. */
export function entryPoints(): EntryPoint[] {
  return globSync("{packages/*,conformance-tests}/package.json", { cwd: root })
    .sort()
    .flatMap((manifest) => {
      const { name, description, exports } = JSON.parse(readFileSync(join(root, manifest), "utf8"));
      const promised = Object.entries<{ default: string }>(exports).filter(
        ([path]) => !path.endsWith("/internal"),
      );
      return promised.map(([path, { default: code }]) => {
        const source = code
          .replace("./dist/", manifest.startsWith("packages/") ? "src/" : "")
          .replace(/\.js$/, ".ts");
        const file = join(dirname(manifest), source);
        return { name: join(name, path), file, ...(path === "." ? { description } : {}) };
      });
    });
}
