import { spawn } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { SavedState } from "../demo/agent.ts";
import { cellsOf } from "../demo/screen.ts";

const root = join(import.meta.dirname, "../..");

/** Contains the demo's own temporary folder. */
let temp: string;
beforeEach(async () => {
  temp = await mkdtemp(join(tmpdir(), "scrollback-demo-test-"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(temp, { recursive: true });
});

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly seconds: number;
}

async function demo(...args: string[]): Promise<Ended> {
  const start = performance.now();
  const child = spawn(process.execPath, ["examples/demo/demo.ts", ...args], {
    cwd: root,
    env: { ...process.env, TMPDIR: temp, FORCE_COLOR: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text) => {
    stdout += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text) => {
    stderr += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  return { code, stdout, stderr, seconds: (performance.now() - start) / 1000 };
}

const folders = async () => (await readdir(temp)).filter((name) => name.startsWith("scrollback-demo-"));

function expectPlain(output: string) {
  for (const control of ["\u001b", "\r"]) expect(output).not.toContain(control);
  expect(output.split("\n").filter((line) => cellsOf(line) > 80)).toEqual([]);
}

function expectDone({ code, stdout, stderr }: Ended) {
  expect(stderr).toBe("");
  expect(code).toBe(0);
  expectPlain(stdout);
  expect(stdout).toContain("Messages  235 in 114 batches");
  expect(stdout).toContain("By role   1 system, 59 user, 98 assistant, 77 tool");
  expect(stdout).toMatch(/Killed by SIGKILL: \d\d batches acknowledged, /);
  expect(stdout).toMatch(/Batch \d\d was sent again, under the operation id|It began with batch \d\d/);
  expect(stdout).toContain("✓ nothing lost or doubled: 235 messages added, the newest is number 235");
  expect(stdout).toContain("✓ what is kept equals the end of the file, byte for byte");
  expect(stdout).toContain("✓ 114 of 114 batches acknowledged");
  expect(stdout).not.toContain("✗");
  expect(stdout).toMatch(/A commit +median \d+\.\d ms, p95 \d+\.\d ms/);
}

describe("on SQLite", () => {
  test("runs as documented, twice, and keeps its data for --look", async () => {
    for (let run = 1; run <= 2; run++) {
      const ended = await demo();
      expectDone(ended);
      expect(ended.seconds).toBeLessThan(20);
      expect(await folders()).toHaveLength(run);
      expect(ended.stdout).toContain("Kept         39 of 235 messages; 196 trimmed");
      const folder = join(temp, (await folders()).find((name) => ended.stdout.includes(name)) ?? "");
      expect(ended.stdout.replaceAll(/\s/g, "")).toContain(`npmrundemo----look${folder}`);
      expect((await readdir(folder)).sort()).toEqual(["chats.db", "state.json"]);

      const again = await demo("--look", folder);
      expect(again.code).toBe(0);
      expectPlain(again.stdout);
      const transcript = /── What is kept.*?(?=\n── )/s.exec(ended.stdout)?.[0];
      expect(again.stdout.trim()).toBe(transcript?.trim());
      expect(again.stdout).toMatch(/ system +You are the operations assistant/);
    }
  });

  test("takes another file, another maxMessages and an existing database", async () => {
    const file = join(temp, "other.jsonl");
    const lines = Array.from({ length: 9 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `message ${index + 1}`,
    }));
    await writeFile(file, lines.map((line) => JSON.stringify(line)).join("\n"));
    const store = `sqlite:${join(temp, "chats.db")}`;
    const args = ["--file", file, "--store", store, "--max-messages", "4"];
    for (const ended of [await demo(...args), await demo(...args)]) {
      expect(ended.code).toBe(0);
      expect(ended.stdout).toContain("✓ nothing lost or doubled: 9 messages added, the newest is number 9");
      expect(ended.stdout).toContain("Kept         3 of 9 messages; 6 trimmed");
      expect(ended.stdout).toContain("Begins with  number 7, user: message 7");
    }
  });

  test("fails if the store has an unexpected message", async () => {
    const store = `sqlite:${join(temp, "chats.db")}`;
    const running = demo("--store", store);
    // A third process adds a message while process A is running.
    let saved: SavedState | undefined;
    for (let tries = 0; !saved && tries < 1_000; tries++) {
      await sleep(5);
      const [folder = ""] = await folders();
      const text = await readFile(join(temp, folder, "state.json"), "utf8").catch(() => undefined);
      if (text) saved = JSON.parse(text);
    }
    await using stores = await openStores(store);
    await stores.restore(saved?.state).addMessages([{ role: "user", content: "I was never in the file" }]);
    const { code, stdout, stderr } = await running;
    expect(code).toBe(1);
    expect(stdout).toContain("✗ lost or doubled: 235 messages added, but the newest is number 236");
    expect(stderr).toBe("demo: the store does not hold what it must hold: see the lines marked ✗\n");
  });
});

describe("on Redis", () => {
  test("runs as documented, and shows no password", async () => {
    await using server = await startServer("redis", { password: "hush-hush" });
    const ended = await demo("--store", server.url);
    expectDone(ended);
    expect(ended.stdout).toContain(`Data         redis://${server.host}:${server.port}`);
    expect(ended.stdout).not.toContain("hush");
    const [folder = ""] = await folders();
    const again = await demo("--look", join(temp, folder), "--store", server.url);
    expect(again.stdout).toMatch(/ system +You are the operations assistant/);
  });
});

describe.each([
  ["mongodb", (url: string) => `${url}demo`],
  ["postgres", (url: string) => url],
  ["dynamodb", (url: string) => `dynamodb://demo?region=eu-central-1&endpoint=${url}`],
] as const)("on %s", (name, urlOf) => {
  test("runs as documented without any setup", async () => {
    // DynamoDB's client signs its requests with these, also for a local server.
    vi.stubEnv("AWS_ACCESS_KEY_ID", "none");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "none");
    await using server = await startServer(name);
    expectDone(await demo("--store", urlOf(server.url)));
  });
});

describe("unusable arguments are refused before anything starts", () => {
  test.each([
    ["an unknown scheme", ["--store", "nonsense:x"], "demo: openStores: url must begin with"],
    ["a store of one process", ["--store", "memory:"], "give a file like sqlite:chats.db"],
    ["no directory", ["--store", "sqlite:/no/such/directory/chats.db"], "create it first"],
    ["an unreachable server", ["--store", "redis://:hush@127.0.0.1:1"], "127.0.0.1:1 (ECONNREFUSED)"],
    ["no such file", ["--file", "/no/such/file.jsonl"], "demo: /no/such/file.jsonl: cannot be read"],
    ["a file of another format", ["--file", "package.json"], "demo: package.json, line 1: "],
    ["an empty file", ["--file", "/dev/null"], "holds no message"],
    ["an invalid number", ["--max-messages", "0"], "maxMessages must be a positive integer"],
    ["an unknown option", ["--stores", "x"], "demo: Unknown option '--stores'\nusage: npm run demo"],
    ["an extra argument", ["x"], "usage: npm run demo"],
    ["no earlier run", ["--look", "/no/such/folder"], "/no/such/folder holds no state.json"],
  ])("%s", async (_what, args, problem) => {
    const { code, stdout, stderr } = await demo(...args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(problem);
    expect(stderr).toMatch(/^demo: /);
    expect(stderr).not.toMatch(/\n +at |hush/);
    expect(await folders()).toEqual([]);
  });
});
