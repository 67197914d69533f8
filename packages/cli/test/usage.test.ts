import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, test } from "vitest";
import type { CliOptions } from "../src/context/command-context.ts";
import { runCli } from "../src/index.ts";
import { Folder, run } from "./run.ts";

const noFile = "the file cannot be read";
test.each([
  [["ls"], "missing required argument 'url'"],
  [["frobnicate"], "unknown command 'frobnicate'"],
  [["ls", "sqlite:x", "--frobnicate"], "unknown option '--frobnicate'"],
  [["ls", "sqlite:x", "--limit", "0"], "It must be a positive integer"],
  [["copy", "memory:", "memory:", "--concurrency", "1000"], "It must be at most 256"],
  [["copy", "redis://a.test/1", "redis://a.test/1"], "source and target are the same"],
  [["ls", "sqlite:x", "--limit", "\u001b[31mred"], "argument '\\x1b[31mred' is invalid"],
  [["ls", "memory:", "--ids-from", "/no/such/file"], `scrollback: /no/such/file: ${noFile} (ENOENT)\n`],
  [["ls", "memory:", "--ids-from", "/"], `scrollback: /: ${noFile} (EISDIR)\n`],
  [["import", "memory:", "/no/such/file"], `scrollback: /no/such/file: ${noFile} (ENOENT)\n`],
  [["ls", "ftp://host"], "url must begin with"],
  [["ls", "env:NO_SUCH_VARIABLE"], "NO_SUCH_VARIABLE: this environment variable is not set"],
  [["show", "memory:", ""], "threadId must be a non-empty string"],
  [["show", "memory:", "a", "--before", "x"], "before must be a cursor"],
])("a usage error is named and has its exit code: %j", async (args, message) => {
  const { code, stdout, stderr } = await run(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toContain(message);
});

test("the help and the manual name every scheme that a URL can begin with", async () => {
  const { stderr } = await run(["ls", "ftp://host"]);
  const schemes = [...stderr.matchAll(/[a-z+]+:(?=,|$)/gm)].map(([scheme]) => scheme);
  expect(schemes).toContain("mongodb+srv:");
  const { stdout: help } = await run(["--help"]);
  const manual = readFileSync(join(import.meta.dirname, "../../../docs/reference/cli.md"), "utf8");
  for (const scheme of schemes) {
    expect(help.split(/\s/).some((word) => word.startsWith(scheme))).toBe(true);
    expect(manual).toContain(`\`${scheme}`);
  }
});

test("a program's adapters open schemes of its own, with names other than the default ones", async () => {
  using folder = new Folder();
  const adapters: CliOptions["adapters"] = {
    old: ({ url, ...options }) =>
      createSqliteStores({ ...options, url: url.replace("old:", "sqlite:"), tablePrefix: "old_" }),
  };
  await using old = folder.stores("chats", { tablePrefix: "old_" });
  await old.open("a").addMessages([{ role: "user", content: "hello" }]);
  const url = folder.url();
  const missing = { code: 6, stdout: "", stderr: expect.stringContaining("lacks the tables") };
  expect(await run(["ls", url])).toMatchObject(missing);
  expect((await run(["copy", url.replace("sqlite:", "old:"), url, "--verify"], { adapters })).code).toBe(0);
  await using stores = folder.stores();
  expect(await stores.open("a").listMessages()).toHaveLength(1);
});

test.each([
  ["ls"],
  ["show", "a"],
  ["verify"],
  ["rebuild"],
  ["export"],
  ["rm", "--all", "--yes"],
  ["copy", "memory:"],
])("a missing SQLite file is named, and not created: %s", async (command, ...args) => {
  using folder = new Folder();
  const stderr = `scrollback: ${folder.url()}: the file does not exist; create it with setup\n`;
  expect(await run([command, folder.url(), ...args])).toEqual({ code: 2, stdout: "", stderr });
  expect(readdirSync(folder.path)).toEqual([]);
});

test("no password is shown for any invalid URL", async () => {
  const url = "redis://ada:hunter2@127.0.0.1:1/?x=hunter2";
  const env = { URL: url.replace("redis", "ftp") };
  const wrong = [[url], ["ls", "memory:", url], ["ls", url, "--bad"], ["ls", "memory:", "--limit", url]];
  const more = [
    ["ls", env.URL],
    ["ls", "env:URL"],
    ["rm", "memory:", "--all", url],
    ["import", "memory:", url],
  ];
  for (const { code, stdout, stderr } of await Promise.all(
    [...wrong, ...more].map((args) => run(args, { env })),
  )) {
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toContain("hunter2");
  }
});

test("help and version go to standard output", async () => {
  const help = await run(["--help"]);
  expect(help).toMatchObject({ code: 0, stderr: "" });
  for (const command of "ls show export import copy rm verify rebuild setup".split(" ")) {
    expect(help.stdout).toMatch(new RegExp(`^ +${command}\\b`, "m"));
    expect((await run([command, "--help"])).code).toBe(0);
  }
  expect(await run(["--version"])).toEqual({ code: 0, stdout: "0.1.0\n", stderr: "" });
});

test("setup reports that a backend is ready, and prints statements without connecting", async () => {
  using folder = new Folder();
  const ready = { code: 0, stdout: `${folder.url()} is ready\n`, stderr: "" };
  expect(await run(["setup", folder.url()])).toEqual(ready);
  expect((await run(["setup", folder.url(), "--json"])).stdout).toBe(`{"backend":"sqlite","ready":true}\n`);
  const { code, stdout } = await run(["setup", "--print", "postgres://app:secret@absent.invalid/app"]);
  expect(code).toBe(0);
  expect(stdout).toContain('CREATE FUNCTION "scrollback".commit_v1(');
  expect(stdout).not.toContain("secret");
  const refused = await run(["setup", "--print", folder.url()]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("has no statements") });
});

const isStopped = expect.stringMatching(/^stopped after \d+ of 20 threads\. .* again/);

test.each([
  { args: ["ls", "--json"], code: 0, note: null },
  { args: ["export"], code: 141, note: isStopped },
  { args: ["verify", "--json"], code: 141, note: isStopped },
  { args: ["copy", "--json"], code: 141, note: isStopped },
  { args: ["copy", "--verify"], code: 141, note: null },
  { args: ["rm", "--json", "--all", "--yes"], code: 141, note: isStopped },
])(
  "a closed pipe ends the command, and is a failure if threads are left: $args",
  async ({ args, code, note }) => {
    using folder = new Folder();
    await using stores = folder.stores();
    for (let index = 0; index < 20; index++)
      await stores.open(`${index}`).addMessages([{ role: "user", content: "x" }]);
    const stdout = new PassThrough({ highWaterMark: 1 });
    stdout.on("error", () => undefined);
    const stderr = new PassThrough({ encoding: "utf8" });
    const stdin = Object.assign(new PassThrough(), { isTTY: false });
    const { signal } = new AbortController();
    const [command = "", ...options] = args;
    const target = command === "copy" ? [folder.url("b")] : [];
    const all = [command, folder.url(), ...target, ...options];
    const running = runCli({ args: all, env: {}, stdin, stdout, stderr, signal });
    if (note !== null || code === 0) await once(stdout, "readable");
    stdout.destroy(Object.assign(new Error("nobody reads"), { code: "EPIPE" }));
    expect(await running).toBe(code);
    expect(stderr.read()).toEqual(note);
  },
);
