import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { CountingDriver } from "../../chats/test/counting-driver.ts";
import { inProcessStreams } from "../src/index.ts";
import { scriptedModel } from "./scripted-model.ts";
import { type ServeOptions, serve, until, user } from "./serve.ts";

const READ = "read chat";
const COMMIT = "commit chat";
const INSERT = "insertEntry";
const TELL = "updateEntry";

async function counted(options: ServeOptions = {}) {
  const driver = new CountingDriver();
  // A heartbeat would be counted by chance.
  const server = await serve({
    stores: createStores(driver),
    model: scriptedModel({ delayMs: 25 }),
    store: { beatMs: 60_000, leaseMs: 180_000 },
    streams: "stores",
    ...options,
  });
  return { ...server, driver };
}

test("requests of a turn: a read, the question, a commit for each step, the answer; independent of chat length", async () => {
  await using server = await counted({ streams: inProcessStreams() });
  const { driver } = server;
  const turn = async (body: object) => {
    driver.take();
    expect((await server.post({ id: "c", ...body })).status).toBe(200);
    return driver.take();
  };
  const plain = [READ, COMMIT, TELL, COMMIT, COMMIT, TELL];
  const first = await turn({ message: user("q1", "say one") });
  expect(first).toEqual([READ, INSERT, COMMIT, TELL, COMMIT, COMMIT, TELL]);
  expect(await turn({ message: user("q2", "say two") })).toEqual(plain);
  for (let n = 0; n < 40; n++) await server.mine.append("c", [user(`f${n}`)]);
  expect(await turn({ message: user("q3", "say three") })).toEqual(plain);
  // Two requests keep the earlier answer.
  const [read, ...rest] = plain;
  expect(await turn({ trigger: "regenerate-message" })).toEqual([read, INSERT, "commit chats", ...rest]);
  expect(await turn({ message: user("q4", "look up x") })).toEqual([
    READ,
    COMMIT,
    TELL,
    COMMIT,
    COMMIT,
    COMMIT,
    TELL,
  ]);
});

test("requests of an answer for listeners of other servers: a read, 2 commits, 4 a second, a deletion; a listener reads 4 times a second", async () => {
  await using server = await counted();
  const { driver } = server;
  await using other = await serve({ stores: server.stores, streams: "stores" });
  const requests = async (body: object, path?: string) => {
    await new Promise((resolve) => setTimeout(resolve, 2_600));
    driver.take();
    const begun = performance.now();
    const answered = server.post({ id: "c", ...body });
    if (path !== undefined) {
      await until(async () => (await server.mine.get("c"))?.run);
      await (await fetch(`${other.url}${path}`)).text();
    }
    await answered;
    const seconds = (performance.now() - begun) / 1_000;
    await new Promise((resolve) => setTimeout(resolve, 2_600));
    const all = driver.take();
    // The first read of a turn is of the whole chat.
    if (path === undefined) expect(all.filter((request) => request === READ)).toHaveLength(2);
    const made = all.filter((request) => request.endsWith(" stream"));
    const [commits = 0, reads, deletions] = ["commit", "read", "delete"].map(
      (verb) => made.filter((one) => one.startsWith(verb)).length,
    );
    return { seconds, commits, reads, deletions };
  };
  expect(await requests({ message: user("q1", "say one") })).toMatchObject({
    ...{ commits: 2, reads: 0, deletions: 1 },
  });
  const long = { message: user("q2", `say ${"w ".repeat(80)}`) };
  const { seconds, commits, reads = 0, deletions } = await requests(long, "/api/chat/c/stream");
  expect(deletions).toBe(1);
  for (const count of [commits, reads]) {
    expect(count).toBeGreaterThan(5);
    expect(count).toBeLessThanOrEqual(4 * seconds + 3);
  }
});

test("requests of the other routes", async () => {
  await using server = await counted();
  const { driver } = server;
  await server.post({ id: "c", message: user("q", "say one") });
  await server.chats.flush();
  const requests = async (method: string, path: string, body?: unknown) => {
    driver.take();
    await (await server.send(method, path, body)).text();
    return driver.take();
  };
  expect(await requests("GET", "/chats")).toEqual(["listEntries"]);
  expect(await requests("GET", "/chats/c")).toEqual([READ]);
  expect(await requests("GET", "/chat/c/stream")).toEqual([READ]);
  expect(await requests("POST", "/chat/c/stop")).toEqual([READ]);
  expect(await requests("PATCH", "/chats/c", { title: "T" })).toEqual([READ, COMMIT, TELL]);
});
