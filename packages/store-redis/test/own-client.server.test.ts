import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { promisify } from "node:util";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { createRedisStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { createWith, declareOwnClientTests } from "./own-client.ts";
import { throughProxy } from "./proxied.ts";

declareOwnClientTests("ioredis 6");
declareOwnClientTests("node-redis 6", createWith("node-redis 6"));

test.each([
  ["ioredis is not installed", ["ioredis"], '[{"role":"user","content":"by redis"}]'],
  [
    "no client is installed",
    ["ioredis", "redis"],
    "UNSUPPORTED createRedisStores: url needs a client of Redis; run: npm install redis, or npm install ioredis",
  ],
])("a url when %s", async (_, missing, expected) => {
  const { url } = await sharedServer("redis");
  const program = new URL("./without-packages.ts", import.meta.url);
  const args = ["--conditions=scrollback-source", program.pathname, url, ...missing];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(stdout.trim()).toBe(expected);
});

test("C15 a deletion that is aborted while the client connects is not sent later", async () => {
  // ioredis 6 requests its protocol before it sends commands, ioredis 5 sends them at once. With a password the store logs in before.
  const open = await sharedServer("redis");
  const { proxy, url } = await throughProxy(open);
  const keyPrefix = randomUUID();
  await using slow = createRedisStores({ url, keyPrefix });
  await using other = createRedisStores({ url: open.url, keyPrefix });
  // The server knows the script from now on.
  await other.deleteThread("a");
  for (const connects of ["for the first time", "again"]) {
    proxy.set({ kind: "down" });
    proxy.set({ kind: "hang" });
    await expect(slow.deleteThread("a", { signal: AbortSignal.timeout(500) })).rejects.toMatchObject({
      code: "ABORTED",
    });
    await other.open("a").replaceMessages([user(connects)]);
    proxy.set({ kind: "pass" });
    // On the same connection, so after everything that waited for it.
    expect(await slow.open("a").listMessages()).toEqual([user(connects)]);
  }
});
