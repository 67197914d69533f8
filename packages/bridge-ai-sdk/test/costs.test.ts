import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { CountingDriver } from "../../chats/test/counting-driver.ts";
import { serve, user } from "./serve.ts";

const READ = "read chat";
const COMMIT = "commit chat";
const INSERT = "insertEntry";
const TELL = "updateEntry";

async function counted() {
  const driver = new CountingDriver();
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
