import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packedPackages, userEnvironment } from "../conformance-tests/test/fixtures/pack-packages.ts";

const run = promisify(execFile);
/** The packages that take `ai` 6, and those that refuse it. */
const taking = ["packages/store-core", "packages/reducers"];
const refusing = ["packages/collections", "packages/chats", "packages/agents", "packages/bridge-ai-sdk"];

// The oldest that the range of the reducers takes, and the newest.
describe.each(["6.0.0", "6"])("beside ai %s", (version) => {
  let app = "";
  const install = async (...packages: string[]) => {
    const flags = ["--ignore-scripts", "--no-audit", "--no-fund"];
    await run("npm", ["install", ...flags, ...packages], { cwd: app });
  };
  beforeAll(async () => {
    app = await mkdtemp(join(tmpdir(), "scrollback-ai-6-"));
    await writeFile(join(app, "package.json"), JSON.stringify({ private: true, type: "module" }));
    await cp(join(import.meta.dirname, "ai-6/program.ts"), join(app, "program.ts"));
    const tarballsOf = async (folders: string[]) =>
      (await packedPackages(folders)).map(({ tarball }) => tarball);
    await install(
      ...(await tarballsOf(taking)),
      `ai@${version}`,
      "zod@4",
      "typescript@5.9.3",
      "@types/node@24",
    );
    // npm refuses those of other ranges, other package managers only warn.
    await install("--legacy-peer-deps", ...(await tarballsOf(refusing)));
  }, 300_000);
  afterAll(() => rm(app, { recursive: true, force: true }));

  const node = (...args: string[]) =>
    run(process.execPath, args, { cwd: app, env: userEnvironment() }).catch(
      ({ stdout, stderr }: Record<"stdout" | "stderr", string>) => ({ stdout, stderr }),
    );

  test("the reducers' types are valid", async () => {
    const flags =
      "--noEmit --strict --target es2022 --lib es2023,esnext.disposable,dom --types node --skipLibCheck false --module nodenext";
    const own = join(import.meta.dirname, "typed/own-errors.ts");
    const { stdout, stderr } = await node(own, "typescript", ...flags.split(" "), "program.ts");
    expect(stdout + stderr).toBe("");
  });

  test("the reducers' middleware and summaries work", async () => {
    const { stdout, stderr } = await node("program.ts");
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      answers: ["four", "six"],
      truncated: ["user: three"],
      summary: "system: Sum up.",
      summarized: ["assistant: they count", "user: five"],
    });
  });

  test.each(["@scrollback/agents", "@scrollback/agents/group-chat", "@scrollback/bridge-ai-sdk"])(
    "%s fails with an error that says what it needs",
    async (name) => {
      const program = `await import("${name}").catch((error) => console.log(error.code, error.message));`;
      const { stdout } = await node("--input-type=module", "--eval", program);
      const [packageName] = name.split("/group-chat");
      expect(stdout).toBe(`UNSUPPORTED ${packageName}: needs ai ^7.0.173; run: npm install ai@7\n`);
    },
  );
});
