/**
 * Publishes every package, each after its dependencies. `node scripts/release.ts` does everything except publishing
 * (`npm publish --dry-run`), `--publish` publishes, and `--tag v1.2.3` names the tag. Run by .github/workflows/release.yml.
 * Before it publishes the first package, it packs and checks all packages: one version, a section in CHANGELOG.md, a matching
 * tag, publint, are-the-types-wrong. It skips versions that the registry already has, so an interrupted release can be
 * repeated.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
import { publishedPackages } from "./published-packages.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const bin = (name: string) => join(root, "node_modules/.bin", name);

export interface ReleasePackage {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
  /** The packages of this repository that must be published before this one. */
  readonly needs: readonly string[];
}

/** All published packages, each after its dependencies. */
export function packagesInOrder(): ReleasePackage[] {
  const found = publishedPackages().map((one): ReleasePackage => {
    const needs = Object.keys({ ...one.dependencies, ...one.peerDependencies }).filter((name) =>
      name.startsWith("@scrollback/"),
    );
    return { name: one.name, version: one.version, folder: one.folder, needs };
  });
  const ordered: ReleasePackage[] = [];
  while (ordered.length < found.length) {
    const ready = found.filter(
      (one) =>
        !ordered.includes(one) && one.needs.every((name) => ordered.some((done) => done.name === name)),
    );
    if (ready.length === 0) throw new Error("packages need each other in a circle, or one that is not here");
    ordered.push(...ready);
  }
  return ordered;
}

/** The problems in the manifests and the changelog that prevent a release of these packages. */
export function problemsOf(
  packages: readonly ReleasePackage[],
  changelog: string,
  tag: string | undefined,
  isDryRun: boolean,
): string[] {
  const versions = [...new Set(packages.map(({ version }) => version))];
  const [version = ""] = versions;
  const problems: string[] = [];
  if (versions.length > 1) problems.push(`packages have different versions: ${versions.join(", ")}`);
  const dated = new RegExp(`^## \\[${version.replaceAll(".", "\\.")}\\] - \\d{4}-\\d\\d-\\d\\d$`, "m");
  if (!dated.test(changelog) && !(isDryRun && /^## \[Unreleased\]$/m.test(changelog))) {
    problems.push(`CHANGELOG.md has no section "## [${version}] - <date>"`);
  }
  if (tag !== undefined && tag !== `v${version}`) problems.push(`the tag is ${tag}, the version ${version}`);
  return problems;
}

/** Packs the packages with one run of npm. Returns their tarballs, by name. */
async function pack(packages: readonly ReleasePackage[], target: string): Promise<Map<string, string>> {
  const folders = packages.map(({ folder }) => `./${folder}`);
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", target, ...folders], {
    cwd: root,
    maxBuffer: 64 * 1024 * 1024,
  });
  const results = Object.values(JSON.parse(stdout)) as { name: string; filename: string }[];
  return new Map(results.map(({ name, filename }) => [name, join(target, filename)]));
}

function tarballOf({ name }: ReleasePackage, tarballs: ReadonlyMap<string, string>): string {
  const tarball = tarballs.get(name);
  if (tarball === undefined) throw new Error(`npm did not pack ${name}`);
  return tarball;
}

async function isPublished({ name, version }: ReleasePackage): Promise<boolean> {
  const { stdout } = await run("npm", ["view", `${name}@${version}`, "version", "--json"]).catch((error) => {
    if (`${error.stdout}${error.stderr}`.includes("E404")) return { stdout: "" };
    throw error;
  });
  return stdout.trim() !== "";
}

async function release(isDryRun: boolean, tag: string | undefined): Promise<void> {
  const packages = packagesInOrder();
  const problems = problemsOf(packages, readFileSync(join(root, "CHANGELOG.md"), "utf8"), tag, isDryRun);
  if (problems.length > 0) throw new Error(problems.join("\n"));
  const folder = await mkdtemp(join(tmpdir(), "scrollback-release-"));
  try {
    const tarballs = await pack(packages, folder);
    for (const one of packages) {
      const tarball = tarballOf(one, tarballs);
      await Promise.all([
        run(bin("publint"), ["run", tarball, "--strict"]),
        run(bin("attw"), [tarball, "--profile", "esm-only", "--no-emoji"]),
      ]);
      console.log(`checked ${one.name}@${one.version}`);
    }
    for (const one of packages) {
      if (await isPublished(one)) {
        console.log(`${one.name}@${one.version} is published`);
        continue;
      }
      const mode = isDryRun ? ["--dry-run"] : [];
      await run("npm", ["publish", tarballOf(one, tarballs), "--provenance", "--access", "public", ...mode]);
      console.log(`${isDryRun ? "would publish" : "published"} ${one.name}@${one.version}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { publish: { type: "boolean", default: false }, tag: { type: "string" } },
  });
  await release(!values.publish, values.tag);
}
