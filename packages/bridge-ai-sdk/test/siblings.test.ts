import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { chatClient } from "../src/client.ts";
import { answer, serve, user } from "./serve.ts";

async function setUp(options: Parameters<typeof serve>[0] = {}) {
  const server = await serve(options);
  await server.mine.create({ id: "c", messages: [user("q", "say one"), answer("a")] });
  const client = chatClient<UIMessage>({ api: `${server.url}/api` });
  const groups = async () => (await client.get("c")).chat.siblings;
  const ids = async () => (await server.stored("c"))?.map(({ id }) => id);
  return Object.assign(server, { client, groups, ids });
}

test("a regeneration keeps the earlier answer, and routes show it again and delete it", async () => {
  await using server = await setUp();
  const { client, groups, ids } = server;
  expect((await server.post({ id: "c", trigger: "regenerate-message", messageId: "a" })).status).toBe(200);
  const [, made = ""] = (await ids()) ?? [];
  const group = { behind: "q", ids: ["a", made], active: made };
  expect(await groups()).toEqual([group]);
  expect(await client.siblings("c", "a")).toEqual(group);
  expect(await client.switchTo("c", "a", { after: made })).toMatchObject({
    siblings: [{ ...group, active: "a" }],
  });
  expect(await ids()).toEqual(["q", "a"]);
  await expect(client.switchTo("c", "x")).rejects.toMatchObject({ status: 404 });
  await expect(client.siblings("c", "q")).rejects.toMatchObject({ status: 404 });
  expect(await client.deleteSibling("c", made)).not.toHaveProperty("siblings");
  await expect(client.deleteSibling("c", made)).rejects.toMatchObject({ status: 404 });
});

test("an edit under its own id, as of useChat, keeps the earlier question with its answer", async () => {
  await using server = await setUp();
  const { client, groups, ids } = server;
  const edited = user("q", "say two");
  expect((await server.post({ id: "c", message: edited, messageId: "q" })).status).toBe(200);
  const [{ ids: [before = ""] = [], ...group } = {}] = (await groups()) ?? [];
  expect(group).toEqual({ behind: null, active: "q" });
  await client.switchTo("c", before);
  expect(await ids()).toEqual([before, "a"]);
  expect((await server.stored("c"))?.[0]).toEqual({ ...user("q", "say one"), id: before });
});

test("a tab that shows another path is refused, and nothing is lost", async () => {
  await using server = await setUp();
  const { client, ids } = server;
  await server.post({ id: "c", message: user("q2", "say two"), messageId: "q" });
  await client.switchTo("c", "q");
  const stale = { id: "c", message: user("q3", "say three"), messageId: "q", lastUserMessageId: "q2" };
  expect((await server.post(stale)).status).toBe(409);
  expect((await server.post({ id: "c", message: user("q3"), parentId: "q2" })).status).toBe(409);
  expect((await server.post({ id: "c", message: user("q4"), messageId: "q2" })).status).toBe(409);
  expect(await ids()).toEqual(["q", "a"]);
  expect(await client.siblings("c", "q2")).toMatchObject({ ids: ["q", "q2"] });
});

test("keepSiblings: false drops what it replaces; an answer that says nothing is never kept", async () => {
  await using server = await setUp({ keepSiblings: false });
  await server.post({ id: "c", trigger: "regenerate-message" });
  expect(await server.groups()).toBeUndefined();
  await using other = await serve();
  const blank = { ...answer("a"), parts: [{ type: "step-start" as const }] };
  await other.mine.create({ id: "c", messages: [user("q", "say one"), blank] });
  await other.post({ id: "c", trigger: "regenerate-message" });
  expect(await other.mine.get("c")).not.toHaveProperty("siblings");
});

test("what does not fit in a commit is refused with 413, and nothing changes", async () => {
  const driver = new MemoryDriver();
  const capabilities = { ...driver.capabilities, maxCommitBytes: 4 * 1_048_576 };
  const stores = createStores(Object.assign(driver, { capabilities }));
  await using server = await setUp({ stores });
  for (const id of ["q2", "q3"]) await server.mine.append("c", [user(id, "x".repeat(2.5 * 1_048_576))]);
  const before = await server.ids();
  expect((await server.post({ id: "c", message: user("r", "say two"), messageId: "q" })).status).toBe(413);
  expect(await server.ids()).toEqual(before);
  expect(await server.groups()).toBeUndefined();
});

test("an import closes the calls of continuations that wait for a decision", async () => {
  await using server = await setUp({ allowImport: true });
  await server.mine.edit("c", "q", user("r"), { keepSibling: true });
  const data = await server.client.export("c");
  const part = {
    ...{ type: "tool-deleteFile", toolCallId: "t", state: "approval-requested" },
    ...{ input: { name: "x" }, approval: { id: "p" } },
  };
  const forged = JSON.parse(JSON.stringify(data));
  forged.continuations[0].entries[1].message.parts = [part];
  const { id } = await server.client.import(forged, { id: "d" });
  await server.client.switchTo(id, "q");
  expect((await server.stored("d"))?.[1]?.parts).toMatchObject([{ state: "output-denied" }]);
});
