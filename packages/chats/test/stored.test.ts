import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createStores } from "@scrollback/store-core/driver";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, test } from "vitest";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { ChatStore } from "../src/index.ts";
import { dialogue, message, storeError, textsOf } from "./contract/values.ts";
import { CountingDriver } from "./counting-driver.ts";

type Mine = ReturnType<ChatStore["of"]>;

test("a chat is one thread and one entry", async () => {
  const stores = createStores(new CountingDriver());
  const chats = new ChatStore({ stores });
  await chats.of("a:b").create({ id: "c d", title: "T", messages: [message("q")] }, { operationId: "op" });
  const { metadata, entries } = await stores.open("chats:chat:a%3Ab:c%20d").read();
  expect(metadata).toMatchObject({ version: 1, id: "c d", writes: 1, title: "T", messageCount: 1 });
  expect(metadata).toHaveProperty("operations", [["op", expect.any(String)]]);
  expect(entries[0]?.message).toMatchObject({
    id: "q",
    role: "user",
    content: "",
    metadata: { status: "complete" },
  });
  expect((await stores.listIndexes()).names).toEqual(["chats:open:a%3Ab"]);
  const { entries: listed } = await stores.index("chats:open:a%3Ab").list();
  expect(listed).toMatchObject([{ key: "c d", version: 1, value: { told: { title: "T" } } }]);
  expect((metadata as { listed: unknown }).listed).toEqual({
    key: "c d",
    order: listed[0]?.order,
    in: { "chats:open:a%3Ab": listed[0]?.id },
  });
});

test("times do not decrease when a clock goes back", async () => {
  let time = 1_000;
  const chats = new ChatStore({ stores: createStores(new CountingDriver()), now: () => time });
  const mine = chats.of("ada");
  await mine.create({ id: "c" });
  time = 500;
  expect(await mine.append("c", [message("q")])).toMatchObject({
    createdAt: 1_000,
    updatedAt: 1_000,
    activeAt: 1_000,
  });
  expect(await mine.update("c", { title: "T" })).toMatchObject({ updatedAt: 1_000 });
});

test("a chat expires ttlMs after its last write, also in lists", async () => {
  const stores = createStores(new CountingDriver(), { ttlMs: 500 });
  const chats = new ChatStore({ stores });
  await chats.of("ada").create({ id: "c" });
  expect((await chats.of("ada").list()).chats).toHaveLength(1);
  await sleep(510);
  expect((await chats.of("ada").list()).chats).toHaveLength(0);
  expect((await stores.listIndexes()).names).toEqual([]);
});

test("an update without changes gives a chat the ttlMs of its writer", async () => {
  const driver = new CountingDriver();
  const of = (ttlMs: number) => new ChatStore({ stores: createStores(driver, { ttlMs }) }).of("ada");
  const expiry = async () => (await createStores(driver).open("chats:chat:ada:c").read()).expiresAt ?? 0;
  await of(60_000).create({ id: "c" });
  const before = await expiry();
  await of(3_600_000).update("c", {});
  expect((await expiry()) - before).toBeGreaterThan(3_000_000);
  expect((await of(60_000).list()).chats).toHaveLength(1);
});

test("an unreadable message is skipped with onCorruptRecord, and blocks changes before the end", async () => {
  const driver = new CountingDriver();
  const broken = {
    encode: (value: unknown) => (JSON.stringify(value).includes("broken") ? "?" : JSON.stringify(value)),
    decode: (text: string) => JSON.parse(text),
  };
  const errors: unknown[] = [];
  const stores = createStores(driver, { codec: broken, onCorruptRecord: (error) => errors.push(error) });
  const mine = new ChatStore({ stores }).of("ada");
  await mine.create({ id: "c", messages: [...dialogue("q", "broken"), message("q2")] });
  await mine.append("c", [message("a2", "assistant")]);
  expect(textsOf((await mine.read("c"))?.entries as never)).toEqual(["q", "q2", "a2"]);
  expect(errors.length).toBeGreaterThan(0);
  await expect(mine.edit("c", "q2", message("x"))).rejects.toMatchObject(storeError("CORRUPT"));
});

test("a newer format fails with UNSUPPORTED, a foreign thread with CORRUPT", async () => {
  const stores = createStores(new CountingDriver());
  const mine = new ChatStore({ stores }).of("ada");
  await stores.open("chats:chat:ada:new").commit({ metadata: { version: 2 } });
  await stores.open("chats:chat:ada:other").commit({ metadata: "mine" });
  await expect(mine.get("new")).rejects.toMatchObject(storeError("UNSUPPORTED", /chats/));
  await expect(mine.get("other")).rejects.toMatchObject(storeError("CORRUPT"));
});

const expired = Array.from({ length: 30 }, (_, n) => `c${n}`);

test.each<[string, (mine: Mine) => Promise<unknown>]>([
  ["delete", (mine) => Promise.all(expired.map((id) => mine.delete(id)))],
  ["deleteAll", (mine) => mine.deleteAll()],
])("%s leaves no text of expired chats in the file", async (_, erase) => {
  const url = scratchUrl();
  const stores = createSqliteStores({ url, ttlMs: 500 });
  const chats = new ChatStore({ stores });
  const mine = chats.of("ada");
  const messages = dialogue("q", "a").map((one) => ({ ...one, content: "A secret" }));
  for (const id of expired) await mine.create({ id, messages });
  await chats.flush();
  // The list does not expire while a chat of another process lives.
  const others = createSqliteStores({ url });
  const other = new ChatStore({ stores: others });
  await other.of("ada").create({ id: "kept" });
  await other.flush();
  await sleep(600);
  expect(await mine.get("c0")).toBeUndefined();
  await erase(mine);
  await Promise.all([chats.flush(), other.flush()]);
  await others.close();
  await stores.close();
  const text = readFileSync(url.replace("sqlite:", ""), "latin1");
  expect(text).not.toContain("A secret");
});

test("a list removes the title of a chat whose thread was deleted beside it, when it reads the chat", async () => {
  const stores = createStores(new CountingDriver());
  const mine = new ChatStore({ stores }).of("ada");
  await mine.create({ id: "c", title: "A secret" });
  await mine.begin("c", { append: [message("q")] });
  await stores.deleteThread("chats:chat:ada:c");
  expect((await mine.list()).chats).toEqual([]);
  expect((await stores.listIndexes()).names).toEqual([]);
});
