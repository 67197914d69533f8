import { type ExecFileOptions, execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { userEnvironment } from "../../../conformance-tests/test/fixtures/pack-packages.ts";
import { Project } from "./project.ts";

const run = (program: string, args: readonly string[], options: ExecFileOptions = {}) =>
  promisify(execFile)(program, args, { env: userEnvironment(), ...options, encoding: "utf8" });
let project: Project;

beforeAll(async () => {
  project = await Project.create(["sqlite"], []);
}, 240_000);
afterAll(() => project?.[Symbol.asyncDispose]());

async function fill(name: string, count: number): Promise<void> {
  await using stores = createSqliteStores({
    url: `sqlite:${join(project.path, name)}`,
    synchronous: "normal",
  });
  for (let index = 0; index < count; index++) {
    await stores.open(`chat-${index}`).addMessages([{ role: "user", content: `m${index}` }]);
  }
}

test("the package has few dependencies", async () => {
  const { stdout } = await run("npm", ["ls", "--all", "--parseable"], { cwd: project.path });
  expect(stdout.trim().split("\n").length).toBeLessThan(25);
});

test("a missing adapter is named with its install command, and no part of the URL is shown", async () => {
  const { code, stderr } = await project.run(["ls", "redis://:hunter2@127.0.0.1"]);
  expect(code).toBe(2);
  expect(stderr).toContain(
    "UNSUPPORTED: openStores: @scrollback/store-redis was not found; run: npm install",
  );
  expect(stderr).not.toContain("hunter2");
});

test("an unsupported Node.js version is reported in one sentence", async () => {
  const old = join(project.path, "node_modules/old-node.mjs");
  await writeFile(
    old,
    `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.20.2" } });`,
  );
  const running = run(process.execPath, [
    "--import",
    old,
    join(project.path, "node_modules/@scrollback/cli/dist/main.js"),
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
  const running = project.start(args);
  await running.until(() => hasThreads("copied.db", 20));
  running.kill("SIGINT");
  const { code, stdout, stderr } = await running.result();
  expect(code).toBe(130);
  expect(stdout).toMatch(/^threads: [\d,]+ copied/);
  expect(stderr).toMatch(
    /stopped after [\d,]+ of 1,500 threads\. Run the same command again to go on: nothing is doubled\./,
  );
  expect(stderr).toContain("interrupted by SIGINT\n");
  const resumed = await project.run([...args, "--verify"]);
  expect(resumed).toMatchObject({ code: 0, stdout: expect.stringMatching(/there already.*\n.*1,500 equal/) });
});

/** Whether a database exists and contains at least the given number of threads. */
async function hasThreads(name: string, count: number): Promise<boolean> {
  const path = join(project.path, name);
  if (!existsSync(path)) return false;
  await using stores = createSqliteStores({ url: `sqlite:${path}` });
  const { threads } = await stores.listThreads({ limit: count });
  return threads.length === count;
}

test("a closed pipe ends the command silently", async () => {
  await fill("many.db", 1_500);
  const { stdout, stderr } = await run(
    "bash",
    ["-c", `${project.program} ls sqlite:many.db --json | head -1`],
    { cwd: project.path },
  );
  expect(stdout.split("\n")).toHaveLength(2);
  expect(stderr).toBe("");
});

test.runIf(process.platform === "linux")("an output that cannot be written is one line", async () => {
  await fill("full.db", 20);
  for (const command of ["ls sqlite:full.db", "ls sqlite:full.db --json", "--help", "--version"]) {
    const failed = run("bash", ["-c", `${project.program} ${command} > /dev/full`], { cwd: project.path });
    await expect(failed).rejects.toMatchObject({
      code: 1,
      stderr: "scrollback: standard output cannot be written (ENOSPC)\n",
    });
  }
});

describe.runIf(process.platform === "linux")("on a terminal", () => {
  /** Runs a command on a pseudo-terminal. */
  const onTerminal = async (command: string, answer = "") => {
    const running = run("script", ["-qec", `${project.program} ${command}`, "/dev/null"], {
      cwd: project.path,
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

  test("a long operation shows its progress", async () => {
    await fill("bar.db", 8_000);
    const { stdout } = await onTerminal("copy sqlite:bar.db sqlite:bar-copied.db --concurrency 1");
    expect(stdout).toMatch(/copying [\d,]+ of 8,000 threads, [\d,]+\/s, .+ left/);
    expect(stdout).toContain("threads: 8,000 copied");
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
  const settled = (text: string) => text.replace(/\(\d+m?s[^)]*\)/g, "(…)");

  beforeAll(async () => {
    const [, file = ""] = /^```jsonl chats\.jsonl\n(.*?)^```/ms.exec(page) ?? [];
    await writeFile(join(project.path, "chats.jsonl"), file);
  });

  test.each(commands)("$command", async ({ command, output }) => {
    const { code, stdout, stderr } = await project.run(command.split(" "));
    expect(code).toBe(0);
    expect(settled(stdout + stderr)).toBe(settled(output));
  });

  test("names every command, option and exit code", async () => {
    const { stdout } = await project.run(["--help"]);
    const names = [...stdout.matchAll(/^ {2}([a-z]+)(?:\||\s)/gm)]
      .map(([, name = ""]) => name)
      .filter((name) => name !== "help");
    expect(names).toHaveLength(9);
    for (const name of names) {
      expect(page).toContain(`\`scrollback ${name} `);
      const help = await project.run([name, "--help"]);
      for (const [, option = ""] of help.stdout.matchAll(/^ {2}(--[a-z-]+)/gm))
        expect(page).toContain(option);
    }
  });
});
