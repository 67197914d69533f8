import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import { aesGcmCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { expect, onTestFinished, test, vi } from "vitest";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { ChatStore } from "../src/index.ts";
import { message, storeError } from "./contract/values.ts";

const THREAD = "thread = (SELECT key FROM scrollback_threads WHERE id = 'chats:chat:ada:b')";

/** Damage to chat "b". */
const damages: Record<string, string> = {
  "its head is damaged": `UPDATE scrollback_metadata SET text = '{"tit' WHERE ${THREAD}`,
  "its head is another value": `UPDATE scrollback_metadata SET text = '"mine"' WHERE ${THREAD}`,
  "its head is gone": `DELETE FROM scrollback_metadata WHERE ${THREAD}`,
  "its commits are gone": `DELETE FROM scrollback_commits WHERE ${THREAD}`,
  "a message is damaged": `UPDATE scrollback_messages SET text = '{"x' WHERE ${THREAD} AND sequence = 1`,
  "a message is null": `UPDATE scrollback_messages SET text = 'null' WHERE ${THREAD} AND sequence = 1`,
  "an entry is null": `UPDATE scrollback_messages SET text = '{"role":"user","content":"","metadata":null}' WHERE ${THREAD}`,
  "an entry has no message": `UPDATE scrollback_messages SET text = '{"role":"user","content":"","metadata":{"writes":1}}' WHERE ${THREAD}`,
  "its messages are gone": `DELETE FROM scrollback_messages WHERE ${THREAD}`,
};

/** Chats of an owner, of which "b" is damaged afterwards. */
async function damaged(
  sql: string,
  isFlushed: boolean,
  onCorruptRecord?: (error: StoreError) => void,
  ids = ["a", "b", "c"],
) {
  const client = new DatabaseSync(":memory:");
  onTestFinished(() => client.close());
  const stores = createSqliteStores({ client });
  const first = new ChatStore({ stores });
  for (const id of ids)
    await first.of("ada").create({ id, title: `T ${id}`, messages: [message("m", "user", `secret ${id}`)] });
  // Otherwise its process dies, and never writes the newest chats' notes.
  if (isFlushed) await first.flush();
  await stores.close();
  client.exec(sql);
  const errors: unknown[] = [];
  const chats = new ChatStore({
    stores: createSqliteStores({ client, ...(onCorruptRecord && { onCorruptRecord }) }),
    onError: (error) => errors.push(error),
  });
  const left = () =>
    client
      .prepare("SELECT id FROM scrollback_threads")
      .all()
      .map(({ id }) => id);
  return { chats, mine: chats.of("ada"), errors, left };
}

for (const [what, sql] of Object.entries(damages)) {
  for (const isFlushed of [true, false]) {
    for (const onCorruptRecord of [undefined, () => undefined]) {
      const where = `${what}${isFlushed ? "" : ", and its writer has died"}${onCorruptRecord ? ", with onCorruptRecord" : ""}`;
      test(`a chat is deleted and usable again if ${where}`, async () => {
        const { chats, mine } = await damaged(sql, isFlushed, onCorruptRecord);
        expect((await mine.list()).chats.map(({ id }) => id).sort()).toEqual(["a", "b", "c"]);
        await mine.delete("b");
        expect((await mine.list()).chats.map(({ id }) => id).sort()).toEqual(["a", "c"]);
        await mine.create({ id: "b", messages: [message("new")] });
        expect((await mine.read("b"))?.entries.map((entry) => entry.message.id)).toEqual(["new"]);
        await chats.flush();
      });

      test(`deleteAll leaves nothing if ${where}`, async () => {
        const { chats, mine, left } = await damaged(sql, isFlushed, onCorruptRecord);
        await mine.deleteAll();
        await chats.flush();
        expect(left()).toEqual([]);
      });
    }
  }
}

test.each(["a message is null", "an entry is null", "an entry has no message"])(
  "the place of the damage is named if %s",
  async (what) => {
    const { mine } = await damaged(damages[what] ?? "", true);
    const place = storeError("CORRUPT", /message 1 of thread "chats:chat:ada:b"/);
    await expect(mine.read("b")).rejects.toMatchObject(place);
    await expect(mine.export("b")).rejects.toMatchObject(place);
    await expect(mine.fork("b")).rejects.toMatchObject(place);
    await expect(mine.append("b", [message("new")])).rejects.toMatchObject(place);
  },
);

test("a chat that has lost its head is not continued by a new chat of its id", async () => {
  for (const onCorruptRecord of [undefined, () => undefined]) {
    const { mine } = await damaged(damages["its head is gone"] ?? "", true, onCorruptRecord);
    await expect(mine.get("b")).rejects.toMatchObject(storeError("CORRUPT", /lost its head/));
    await expect(mine.create({ id: "b" })).rejects.toMatchObject(storeError("CORRUPT"));
    await expect(mine.begin("b", { append: [message("new")] })).rejects.toMatchObject(storeError("CORRUPT"));
  }
});

test("a chat whose key was destroyed is deleted", async () => {
  const driver = new MemoryDriver();
  const of = (...ids: number[]) => {
    const keys = ids.map((id) => ({ id: `${id}`, key: new Uint8Array(32).fill(id) }));
    return new ChatStore({ stores: createStores(driver, { codec: aesGcmCodec({ keys }) }) });
  };
  await of(1)
    .of("ada")
    .create({ id: "other", messages: [message("m")] });
  const mine = of(2).of("bob");
  await mine.create({ id: "kept" });
  await expect(mine.get("kept")).resolves.toBeDefined();
  const orphaned = of(2).of("ada");
  // Its list is lost with the key, too.
  await orphaned.delete("other").catch(() => undefined);
  expect(await createStores(driver).open("chats:chat:ada:other").read()).toMatchObject({ revision: null });
});

test("deleteAll deletes a damaged chat of a process that died before it told the list", async () => {
  const driver = new FullDriver();
  const stores = createStores(driver);
  driver.hangs = true;
  void new ChatStore({ stores }).of("ada").create({ id: "b", title: "A secret" });
  await vi.waitFor(async () => expect((await stores.listThreads()).threads).toHaveLength(1));
  driver.hangs = false;
  await stores.open("chats:chat:ada:b").commit({ metadata: "damaged" });
  await new ChatStore({ stores }).of("ada").deleteAll();
  expect((await stores.listThreads()).threads).toEqual([]);
});

test("a list reports a damaged chat that it reads, and shows what it knew of it", async () => {
  const { mine, errors } = await damaged(damages["its head is damaged"] ?? "", true);
  expect((await mine.list()).chats.map(({ title }) => title).sort()).toEqual(["T a", "T b", "T c"]);
  expect(errors).toEqual([]);
  const driver = new KeptDriver();
  const stores = createStores(driver);
  const heard: unknown[] = [];
  const chats = new ChatStore({ stores, onError: (error) => heard.push(error) });
  await chats.of("ada").create({ id: "c", title: "T" });
  await chats.of("ada").begin("c", { append: [message("q")] });
  await stores.open("chats:chat:ada:c").commit({ metadata: "damaged" });
  expect((await chats.of("ada").list()).chats.map(({ title }) => title)).toEqual(["T"]);
  expect(heard).toMatchObject([{ code: "CORRUPT" }]);
});

/** A database that is full: only commits that add nothing, and deletions, succeed. */
class FullDriver extends MemoryDriver {
  isFull = false;
  /** Updates of entries get no reply, as those of a process that dies. */
  hangs = false;
  override readonly index = wrappedIndex(new MemoryDriver().index, async (verb, run) => {
    if (this.isFull && (verb === "insertEntry" || verb === "updateEntry"))
      throw new StoreError("UNAVAILABLE", "no memory left");
    if (this.hangs && verb === "updateEntry") return await new Promise<never>(() => undefined);
    return await run();
  });

  override async commit(request: Parameters<MemoryDriver["commit"]>[0]) {
    const adds = request.append.length > 0 || typeof request.metadata === "string";
    if (this.isFull && adds) throw new StoreError("UNAVAILABLE", "no memory left");
    return await super.commit(request);
  }
}

test("chats are deleted although the database is full, and so is what lists have of them", async () => {
  const driver = new FullDriver();
  const stores = createStores(driver);
  const first = new ChatStore({ stores });
  for (const id of ["a", "b", "c"])
    await first.of("ada").create({ id, messages: [message("m", "user", "secret")] });
  await first.flush();
  driver.isFull = true;
  const mine = new ChatStore({ stores }).of("ada");
  const left = async () => (await stores.listThreads({ prefix: "chats:chat:" })).threads.length;
  await mine.delete("a");
  expect(await left()).toBe(2);
  await mine.deleteAll();
  expect(await left()).toBe(0);
  expect((await stores.listIndexes()).names).toEqual([]);
});
