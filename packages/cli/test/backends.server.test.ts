import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { ChatStore } from "@scrollback/chats";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Folder, jsonLines, run } from "./run.ts";

const main = join(import.meta.dirname, "../src/main.ts");
const THREADS = 120;
const password = "hunter2-of-the-server";
const key = Buffer.alloc(32, 7).toString("base64");
const hostileIds = [
  "\u001b]0;owned\u0007",
  "a:b{c}*?[",
  "line\nfeed",
  "\u202edi",
  " ",
  "-x",
  "--all",
  "%_\\",
  "用户",
];
const total = THREADS + hostileIds.length + 2;
const folder = new Folder();
const env: Record<string, string> = { SQLITE: folder.url() };
let server: RunningServer;
/** All that the commands have written. */
let output = "";

async function scrollback(args: readonly string[], more: Record<string, string> = {}) {
  const result = await run(args, { env: { ...env, ...more } });
  output += result.stdout + result.stderr;
  return result;
}

beforeAll(async () => {
  // A server of this file's own, because the CLI lists all threads that have the default names of keys.
  server = await startServer("redis", { password });
  env.REDIS = server.url;
  await using stores = folder.stores();
  for (let index = 0; index < THREADS; index++) {
    const append = [
      { role: "user" as const, content: `m${index} \u0000\ud83d\ude00`, metadata: { at: new Date(index) } },
      { role: "assistant" as const, content: "x".repeat(index * 50) },
    ];
    const createdAt = 1_700_000_000_000 + index;
    await stores.open(`chat-${index}`).commit({ append, metadata: { index } }, { createdAt });
  }
  for (const id of hostileIds) await stores.open(id).addMessages([{ role: "user", content: id }]);
  await stores.open("empty").commit({ metadata: { title: "no messages" } });
  const long = Array.from({ length: 1_500 }, (_, index) => ({ role: "user" as const, content: `${index}` }));
  await stores.open("long").addMessages(long);
}, 600_000);
afterAll(async () => {
  folder[Symbol.dispose]();
  await server?.stop();
});

test("a copy continues after a kill, and has the same content, also after the way back", async () => {
  const args = ["copy", "env:SQLITE", "env:REDIS"];
  const killed = spawn(process.execPath, [main, ...args, "--json"], { env: { ...process.env, ...env } });
  let lines = 0;
  for await (const chunk of killed.stdout) {
    lines += String(chunk).split("\n").length - 1;
    if (lines > total / 3) break;
  }
  killed.kill("SIGKILL");
  if (killed.exitCode === null && killed.signalCode === null) await once(killed, "exit");
  expect(lines).toBeLessThan(total);
  const { code, stdout } = await scrollback([...args, "--verify"]);
  expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^threads: .*there already/) });
  expect(stdout).toContain(`threads: ${total} equal`);
  expect(await scrollback(["copy", "env:REDIS", "env:SQLITE", "--verify"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`threads: ${total} there already`),
  });
});

test("ls, show and verify", async () => {
  const listed = jsonLines((await scrollback(["ls", "env:REDIS", "--json"])).stdout);
  expect(listed).toHaveLength(total);
  for (const id of hostileIds) expect(listed.map(({ threadId }) => threadId)).toContain(id);
  const one = await scrollback(["ls", "env:REDIS", "--json", "--prefix", "chat-1"]);
  expect(jsonLines(one.stdout)).toHaveLength(31);
  expect((await scrollback(["show", "env:REDIS", "long", "--limit", "1"])).stdout).toMatch(/^ {2}1499$/m);
  expect(await scrollback(["show", "env:REDIS", "--", "-x"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining("  -x\n"),
  });
  expect(await scrollback(["verify", "env:REDIS"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(`${total} readable`),
  });
  expect((await scrollback(["show", "env:REDIS", "none"])).code).toBe(3);
});

test("export, rm and import, encrypted at rest", async () => {
  const file = folder.file("chats.jsonl");
  const selected = ["--prefix", "chat-2"];
  expect((await scrollback(["export", "env:REDIS", ...selected, "--output", file])).code).toBe(0);
  expect((await scrollback(["rm", "env:REDIS", ...selected, "--yes"])).code).toBe(0);
  expect((await scrollback(["ls", "env:REDIS", ...selected])).stdout).toBe("");
  const codec = { SCROLLBACK_CODEC: "aes-gcm", SCROLLBACK_KEYS: `k:${key}` };
  expect((await scrollback(["import", "env:REDIS", file, "--verify"], codec)).code).toBe(0);
  expect((await scrollback(["verify", "env:REDIS", ...selected])).code).toBe(4);
  expect((await scrollback(["verify", "env:REDIS", ...selected], codec)).code).toBe(0);
  await using stores = await openStores(server.url);
  await expect(stores.open("chat-2").read()).rejects.toMatchObject({ code: "CORRUPT" });
});

test.each(["entries", "entry-values", "*"])(
  "rebuild mends lists of which Redis has evicted %s",
  async (part) => {
    await using stores = await openStores(server.url);
    await using chats = new ChatStore({ stores });
    const mine = chats.of("ada");
    for (const id of ["a", "b", "c"])
      await mine.create({ id, title: id, ...(id === "b" && { pinned: true }) });
    const listed = (await mine.list()).chats;
    const client = new Redis(server.url);
    expect(await client.del(...(await client.keys(part === "*" ? "*:entr*" : `*:${part}`)))).toBeGreaterThan(
      1,
    );
    await client.quit();
    const selected = ["env:REDIS", "--prefix", "chats:"];
    const missing = { code: 4, stderr: expect.stringContaining("not listed") };
    expect(await scrollback(["verify", ...selected])).toMatchObject(missing);
    const rebuilt = { code: 0, stdout: expect.stringMatching(/^threads: 3 listed again/) };
    expect(await scrollback(["rebuild", ...selected])).toMatchObject(rebuilt);
    expect((await mine.list()).chats).toEqual(listed);
    expect((await scrollback(["verify", ...selected])).code).toBe(0);
    await mine.deleteAll();
  },
);

test("an unreachable server has its exit code, and no secret is shown", async () => {
  const gone = await scrollback(["ls", `redis://:${password}@127.0.0.1:1`]);
  expect(gone).toMatchObject({
    code: 6,
    stdout: "",
    stderr: expect.stringMatching(/^scrollback: UNAVAILABLE: /),
  });
  expect(output.length).toBeGreaterThan(1_000);
  for (const secret of [password, key]) expect(output).not.toContain(secret);
});
