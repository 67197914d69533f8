import { execFile } from "node:child_process";
import { globSync } from "node:fs";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The versions that docs/how-to/deploy.md names. They are not dependencies: they take 490 MB. */
export const VERSIONS = { bun: "1.4.5", deno: "2.9.6", miniflare: "4.20260730.0" };

const PROGRAMS = { bun: "node_modules/@oven/*/bin/bun", deno: "node_modules/@deno/*/deno" };

/** A runtime that has a program. */
export type RuntimeName = keyof typeof PROGRAMS;

/** Installs runtimes from npm into a folder without a manifest. */
export async function installRuntimes(
  folder: string,
  names: readonly (keyof typeof VERSIONS)[],
): Promise<void> {
  await writeFile(join(folder, "package.json"), "{}");
  const packages = names.map((name) => `${name}@${VERSIONS[name]}`);
  // Without scripts: these only link the programs, which are in packages for each platform.
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
  await run("npm", ["install", ...flags, ...packages], { cwd: folder });
}

/** The installed binary of the machine's platform that runs: an install may have several, for other processors and C libraries. */
export async function programOf(folder: string, name: RuntimeName): Promise<string> {
  for (const path of globSync(PROGRAMS[name], { cwd: folder })) {
    const program = join(folder, path);
    await chmod(program, 0o755);
    const isRunning = await run(program, ["--version"]).catch(() => undefined);
    if (isRunning) return program;
  }
  throw new Error(`no program ${PROGRAMS[name]}`);
}
