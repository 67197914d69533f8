import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { createRedisStores } from "@scrollback/store-redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Project } from "./project.ts";
import { jsonLines } from "./run.ts";

const THREADS = 10_000;
/** The progress of a copy at which it is killed. */
const KILLED_AT = 0.4;

let first: RunningServer;
let second: RunningServer;
let project: Project;

beforeAll(async () => {
  [first, second] = await Promise.all([startServer("redis"), startServer("redis")]);
  project = await Project.create(["sqlite", "redis"], ["ioredis@6"]);
  await using stores = createRedisStores({ url: first.url });
  for (let from = 0; from < THREADS; from += 500) {
    const batch = Array.from({ length: 500 }, (_, index) => {
      const number = from + index;
      const append = [
        { role: "user" as const, content: `Question ${number}` },
        { role: "assistant" as const, content: `Answer ${number}`.repeat(number % 20) },
      ];
      const metadata = { title: `Chat ${number}` };
      return stores
        .open(`user-${number % 100}/chat-${number}`)
        .commit({ append, metadata }, { createdAt: 1_700_000_000_000 + number });
    });
    await Promise.all(batch);
  }
}, 300_000);
afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
  await Promise.all([first?.stop(), second?.stop()]);
});

test("10,000 threads go from Redis to SQLite and on to another Redis, each copy killed in the middle, and are equal", async () => {
  const hops = [
    [first.url, "sqlite:chats.db"],
    ["sqlite:chats.db", second.url],
  ] as const;
  for (const [from, to] of hops) {
    const killed = project.start(["copy", from, to, "--json"]);
    await killed.until(async () => killed.stdout.split("\n").length > THREADS * KILLED_AT);
    killed.kill("SIGKILL");
    expect((await killed.result()).code).toBe(137);
    const { code, stdout, stderr } = await project.run(["copy", from, to, "--verify", "--json"]);
    expect({ code, stderr: stderr.replace(/^(copying|comparing) .*\n/gm, "") }).toEqual({
      code: 0,
      stderr: "",
    });
    const [copied, compared] = jsonLines(stdout).flatMap(({ summary }) => (summary ? [summary] : [])) as {
      outcomes: Record<string, number>;
    }[];
    expect(copied?.outcomes["there already"]).toBeGreaterThanOrEqual(THREADS * KILLED_AT - 1);
    expect(copied?.outcomes.copied).toBeGreaterThan(0);
    expect(compared?.outcomes).toEqual({ equal: THREADS });
  }
  await using before = createRedisStores({ url: first.url });
  await using after = createRedisStores({ url: second.url });
  const id = "user-77/chat-4277";
  const { revision, newer, older, ...content } = await before.open(id).read();
  expect(await after.open(id).read()).toMatchObject(content);
}, 600_000);
