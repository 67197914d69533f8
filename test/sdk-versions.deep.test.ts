import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { beginningOf } from "../conformance-tests/test/fixtures/framework-versions.ts";
import { packedPackages, userEnvironment } from "../conformance-tests/test/fixtures/pack-packages.ts";
import manifest from "../packages/store-core/package.json" with { type: "json" };

// store-core imports only types of the SDKs, so a program that uses them is compiled, without `skipLibCheck`.

const run = promisify(execFile);
const { peerDependencies, devDependencies } = manifest;
const major = (range: string) => Number.parseInt(range.split("<")[1] ?? "", 10) - 1;

let app = "";
const install = async (...packages: string[]) => {
  const flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps"];
  await run("npm", ["install", ...flags, ...packages], { cwd: app });
};
beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), "scrollback-sdk-versions-"));
  await writeFile(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }));
  await cp(join(import.meta.dirname, "sdk-versions"), app, { recursive: true });
  const [core] = await packedPackages(["packages/store-core"]);
  await install(core?.tarball ?? "", "typescript@5.9.3", "@types/node@24");
});
afterAll(() => rm(app, { recursive: true, force: true }));

const sdks = [
  ["OpenAI SDK", "openai", "openai.ts"],
  ["Anthropic SDK", "@anthropic-ai/sdk", "anthropic.ts"],
] as const;
test.for(sdks.flatMap((sdk) => (["oldest", "newest"] as const).map((age) => [...sdk, age] as const)))(
  "%s, package %s: %s compiles with the %s of the range",
  async ([name, packageName, program, age], { task }) => {
    const range = peerDependencies[packageName];
    await install(`${packageName}@${age === "oldest" ? beginningOf(range) : major(range)}`);
    const installed = await readFile(join(app, "node_modules", packageName, "package.json"), "utf8");
    const { version } = JSON.parse(installed) as { version: string };
    console.log(`${name}: ${version}`);
    task.meta.otherFramework = { name, version, pinned: devDependencies[packageName], age };
    const flags =
      "--noEmit --strict --target es2022 --lib es2023,esnext.disposable,dom --types node --skipLibCheck false --module nodenext";
    const compiler = join(app, "node_modules/typescript/bin/tsc");
    const { stdout } = await run(process.execPath, [compiler, ...flags.split(" "), program], {
      cwd: app,
      env: userEnvironment(),
    }).catch(({ stdout, stderr }: Record<"stdout" | "stderr", string>) => ({ stdout: stdout + stderr }));
    // Ignores errors in the types of other packages.
    const errors = stdout
      .split("\n")
      .filter((line) => /^(\w+\.ts|.*@scrollback\/|error |\w*Error: )/.test(line));
    expect(errors).toEqual([]);
  },
);
