import { type ChildProcess, type ExecFileOptions, execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { packedPackages, userEnvironment } from "../../../conformance-tests/test/fixtures/pack-packages.ts";

const run = (program: string, args: readonly string[], options: ExecFileOptions = {}) =>
  promisify(execFile)(program, args, { cwd: path, env: userEnvironment(), ...options, encoding: "utf8" });
/** A folder in which the packed packages are installed. */
let path: string;
let program: string;

beforeAll(async () => {
  path = await mkdtemp(join(tmpdir(), "scrollback-project-"));
  program = join(path, "node_modules/.bin/scrollback");
  const names = ["store-core", "documents", "collections", "chats", "store-sqlite", "cli"];
  const packed = await packedPackages(names.map((name) => `packages/${name}`));
  await writeFile(join(path, "package.json"), JSON.stringify({ name: "project", private: true }));
  await run("npm", ["install", "--no-audit", "--no-fund", ...packed.map(({ tarball }) => tarball)]);
}, 240_000);
afterAll(() => rm(path, { recursive: true, force: true }));

/** Runs the installed command to its end; `onStart` gets its process. */
async function scrollback(args: readonly string[], onStart?: (child: ChildProcess) => Promise<void>) {
  const running = run(program, args);
  running.child.stdin?.end();
  const [result] = await Promise.all([
    running.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout,
        stderr,
      }),
    ),
    onStart?.(running.child),
  ]);
  return result;
}

async function fill(name: string, count: number): Promise<void> {
  await using stores = createSqliteStores({
    url: `sqlite:${join(path, name)}`,
    synchronous: "normal",
  });
  for (let index = 0; index < count; index++) {
    await stores.open(`chat-${index}`).addMessages([{ role: "user", content: `m${index}` }]);
  }
}

test("the package has few dependencies", async () => {
  const { stdout } = await run("npm", ["ls", "--all", "--parseable"]);
  expect(stdout.trim().split("\n").length).toBeLessThan(15);
});

test("a missing adapter is named with its install command, and no part of the URL is shown", async () => {
  const { code, stderr } = await scrollback(["ls", "redis://:hunter2@127.0.0.1"]);
  expect(code).toBe(2);
  expect(stderr).toContain(
    "UNSUPPORTED: openStores: @scrollback/store-redis was not found; run: npm install",
  );
  expect(stderr).not.toContain("hunter2");
});

test("an unsupported Node.js version is reported in one sentence", async () => {
  const old = join(path, "node_modules/old-node.mjs");
  await writeFile(
    old,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });`,
  );
  const running = run(process.execPath, [
    "--import",
    old,
    join(path, "node_modules/@scrollback/cli/dist/main.js"),
    "ls",
  ]);
  await expect(running).rejects.toMatchObject({
    code: 2,
    stdout: "",
    stderr: "scrollback: Scrollback needs Node.js 22.13 or later; this is Node.js 20.20.2\n",
  });
});

test("Ctrl-C leaves no partial data and says how to continue; the same command continues", async () => {
  await fill("many.db", 1_500);
  const args = ["copy", "sqlite:many.db", "sqlite:copied.db"];
  const { code, stdout, stderr } = await scrollback(args, async (child) => {
    while (child.exitCode === null && !(await hasThreads("copied.db", 20)))
      await new Promise((resolve) => setTimeout(resolve, 50));
    child.kill("SIGINT");
  });
  expect(code).toBe(130);
  expect(stdout).toMatch(/^threads: [\d,]+ copied/);
  expect(stderr).toMatch(
    /stopped after [\d,]+ of 1,500 threads\. Run the same command again to go on: nothing is doubled\./,
  );
  expect(stderr).toContain("interrupted by SIGINT\n");
  const resumed = await scrollback([...args, "--verify"]);
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringMatching(/there already.*\n.*1,500 equal/) });
});

/** Whether a database exists and contains at least the given number of threads. */
async function hasThreads(name: string, count: number): Promise<boolean> {
  const file = join(path, name);
  if (!existsSync(file)) return false;
  await using stores = createSqliteStores({ url: `sqlite:${file}` });
  const { threads } = await stores.listThreads({ limit: count });
  return threads.length === count;
}

test("ui serves the page of the package, until Ctrl-C", async () => {
  await fill("ui.db", 3);
  const running = run(program, ["ui", "sqlite:ui.db"]);
  const url = await new Promise<string>((resolve) =>
    running.child.stdout?.once("data", (text) => resolve(String(text).trim())),
  );
  const opened = await fetch(url, { redirect: "manual" });
  const cookie = String(opened.headers.get("set-cookie")).split(";")[0] ?? "";
  const get = async (file: string) => await (await fetch(new URL(file, url), { headers: { cookie } })).text();
  expect(await get("/")).toContain("/page.js");
  expect(await get("/page.js")).toContain("/api/threads");
  expect(await get("/page.css")).toContain("light-dark(");
  expect(JSON.parse(await get("/api/threads")).threads).toHaveLength(3);
  running.child.kill("SIGINT");
  expect((await running).stderr).toContain("it works once");
});

test.runIf(process.platform === "linux")("an output that cannot be written is one line", async () => {
  await fill("full.db", 20);
  for (const command of ["ls sqlite:full.db", "ls sqlite:full.db --json", "--help", "--version"]) {
    const failed = run("bash", ["-c", `${program} ${command} > /dev/full`]);
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: "scrollback: standard output cannot be written (ENOSPC)\n",
    });
  }
});

describe.runIf(process.platform === "linux")("on a terminal", () => {
  /** Runs a command on a pseudo-terminal. */
  const onTerminal = async (command: string, answer = "") => {
    const running = run("script", ["-qec", `${program} ${command}`, "/dev/null"], {
      env: {
        ...userEnvironment(),
        TERM: "xterm-256color",
        CI: undefined,
        NO_COLOR: undefined,
        FORCE_COLOR: undefined,
      },
    });
    // The input stays open: `script` ends at the end of its input, possibly before the prompt of the command.
    running.child.stdin?.write(answer);
    return await running;
  };

  test("rm asks, and colours are shown", async () => {
    await fill("tty.db", 3);
    const { stdout } = await onTerminal("rm sqlite:tty.db chat-1", "y\n");
    expect(stdout).toContain("Delete 1 thread of sqlite:tty.db permanently? [y/N]");
    expect(stdout).toContain("threads: 1 deleted");
    const shown = await onTerminal("show sqlite:tty.db chat-0");
    expect(shown.stdout).toContain("\u001b[36muser\u001b[39m");
  });
});

describe("docs/reference/cli.md", async () => {
  const page = await readFile(join(import.meta.dirname, "../../../docs/reference/cli.md"), "utf8");
  const commands = [...page.matchAll(/^```console\n(.*?)^```/gms)].flatMap(([, block = ""]) =>
    block
      .split(/^\$ scrollback /m)
      .slice(1)
      .map((example) => {
        const [command = "", ...output] = example.split("\n");
        return { command, output: output.join("\n") };
      }),
  );
  /** Replaces the text that differs between runs. */
  const settled = (text: string) =>
    text.replace(/\(\d+m?s[^)]*\)/g, "(…)").replace(/"newestUpdatedAt":\d+/g, `"newestUpdatedAt":…`);

  beforeAll(async () => {
    const [, file = ""] = /^```jsonl chats\.jsonl\n(.*?)^```/ms.exec(page) ?? [];
    await writeFile(join(path, "chats.jsonl"), file);
  });

  test.each(commands)("$command", async ({ command, output }) => {
    const { code, stdout, stderr } = await scrollback(command.split(" "));
    expect(code).toBe(0);
    expect(settled(stdout + stderr)).toBe(settled(output));
  });

  test("names every command, option and exit code", async () => {
    const { stdout } = await scrollback(["--help"]);
    const names = [...stdout.matchAll(/^ {2}([a-z]+)(?:\||\s)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "help");
    expect(names).toHaveLength(12);
    for (const name of names) {
      expect(page).toContain(`\`scrollback ${name} `);
      const help = await scrollback([name, "--help"]);
      for (const [, option = ""] of help.stdout.matchAll(/^ {2}(--[a-z-]+)/gm))
        expect(page).toContain(option);
    }
  });
});
