import { createStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { withoutChance } from "../../../conformance-tests/test/fixtures/without-chance.ts";
import { CountingDriver } from "../../chats/test/counting-driver.ts";
import { serve, user } from "./serve.ts";

withoutChance();

const READ = "read chat";
const COMMIT = "commit chat";

/** Counts the requests for chats, not those for the directory: notes, at most one per second for all chats of an owner. */
class ChatCountingDriver extends CountingDriver {
  override take(): string[] {
    return super.take().filter((request) => request !== "commit directory");
  }
}

async function counted() {
  const driver = new ChatCountingDriver();
  // A heartbeat would be counted by chance.
  const server = await serve({ stores: createStores(driver), store: { beatMs: 60_000, leaseMs: 180_000 } });
  return { ...server, driver };
}

test("requests of a turn: a read, the question, a commit for each step, the answer; independent of chat length", async () => {
  await using server = await counted();
  const { driver } = server;
  const turn = async (body: object) => {
    driver.take();
    expect((await server.post({ id: "c", ...body })).status).toBe(200);
    // A note may begin a compaction of the directory in the background, by time.
    return driver.take().filter((request) => !request.endsWith(" directory"));
  };
  const plain = [READ, COMMIT, COMMIT, COMMIT];
  expect(await turn({ message: user("q1", "say one") })).toEqual(plain);
  expect(await turn({ message: user("q2", "say two") })).toEqual(plain);
  for (let n = 0; n < 40; n++) await server.mine.append("c", [user(`f${n}`)]);
  expect(await turn({ message: user("q3", "say three") })).toEqual(plain);
  expect(await turn({ trigger: "regenerate-message" })).toEqual(plain);
  expect(await turn({ message: user("q4", "look up x") })).toEqual([...plain, COMMIT]);
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
  expect(await requests("GET", "/chats")).toEqual(["read directory"]);
  expect(await requests("GET", "/chats/c")).toEqual([READ]);
  expect(await requests("GET", "/chat/c/stream")).toEqual([READ]);
  expect(await requests("POST", "/chat/c/stop")).toEqual([READ]);
  expect(await requests("PATCH", "/chats/c", { title: "T" })).toEqual([READ, COMMIT]);
});
