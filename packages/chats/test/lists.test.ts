import { setImmediate as otherEvents } from "node:timers/promises";
import { rebuildLists } from "@scrollback/collections";
import { jsonCodec, StoreError } from "@scrollback/store-core";
import { aesGcmCodec, gzipCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { withFakeTimers } from "../../../conformance-tests/test/fixtures/fake-timers.ts";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { ChatStore, type ListChats, type OwnedChats } from "../src/index.ts";
import { message, storeError } from "./contract/values.ts";

/** A driver whose index can lose its entries, fail, and tell of each request. */
class WatchedDriver extends KeptDriver {
  inner = new MemoryDriver().index;
  before: (verb: string) => Promise<void> = async () => undefined;
  override readonly index = wrappedIndex(
    new Proxy(this.inner, {
      get: (_, verb: keyof MemoryDriver["index"]) => this.inner[verb]?.bind(this.inner),
    }),
    async (verb, run) => {
      await this.before(verb);
      return await run();
    },
  );

  override async commit(...args: Parameters<KeptDriver["commit"]>) {
    await this.before("commit");
    return await super.commit(...args);
  }
}

function setUp(indexedLabels: readonly string[] = []) {
  const driver = new WatchedDriver();
  const stores = createStores(driver);
  const connect = (labels = indexedLabels) => new ChatStore({ stores, indexedLabels: labels });
  return { driver, stores, connect, mine: connect().of("ada") };
}

const idsOf = async (chats: OwnedChats, options: ListChats = {}) =>
  (await chats.list(options)).chats.map(({ id }) => id).toSorted();

test("a chat that moves between lists is in one of them at each moment, and in one only after update returned", async () => {
  const { driver, connect, mine } = setUp(["kind"]);
  await mine.create({ id: "c", title: "T" });
  const others = connect().of("ada");
  const patches = [
    { archived: true, pinned: true },
    { archived: false, labels: { kind: "a" } },
    { pinned: false, labels: { kind: "b" } },
    { archived: true, labels: { kind: null } },
  ];
  for (const patch of patches) {
    let isLooking = false;
    driver.before = async () => {
      if (isLooking) return;
      isLooking = true;
      const listed = [...(await idsOf(others)), ...(await idsOf(others, { archived: true }))];
      expect(new Set(listed)).toEqual(new Set(["c"]));
      isLooking = false;
    };
    await mine.update("c", patch);
    driver.before = async () => undefined;
    const chat = await others.get("c");
    for (const archived of [true, false]) {
      expect(await idsOf(others, { archived })).toEqual(chat?.archived === archived ? ["c"] : []);
      for (const pinned of [true, false])
        expect(await idsOf(others, { archived, pinned })).toEqual(
          chat?.archived === archived && chat.pinned === pinned ? ["c"] : [],
        );
      for (const kind of ["a", "b"])
        expect(await idsOf(others, { archived, labels: { kind } })).toEqual(
          chat?.archived === archived && chat.labels.kind === kind ? ["c"] : [],
        );
    }
  }
  await mine.delete("c");
  await expect(
    driver.index.listIndexes({ prefix: "", limit: 9, cursor: undefined, signal: undefined }),
  ).resolves.toEqual({ names: [] });
});

test("chats whose entries a server lost are listed after rebuildLists, and after a read of each", async () => {
  const { driver, stores, connect, mine } = setUp();
  for (const id of ["a", "b", "c"]) await mine.create({ id, title: `T ${id}`, pinned: id === "b" });
  const before = await mine.list();
  driver.inner = new MemoryDriver().index;
  expect(await idsOf(mine)).toEqual([]);
  expect(await rebuildLists(stores)).toEqual({ listed: 3, rebuilt: 3 });
  expect(await connect().of("ada").list()).toEqual(before);
  expect(await idsOf(mine, { pinned: true })).toEqual(["b"]);
  expect(await rebuildLists(stores)).toEqual({ listed: 3, rebuilt: 0 });
  driver.inner = new MemoryDriver().index;
  const others = connect();
  for (const id of ["a", "b", "c"]) await others.of("ada").get(id);
  await others.flush();
  expect((await others.of("ada").list()).chats).toMatchObject([
    { title: "T c" },
    { title: "T b" },
    { title: "T a" },
  ]);
});

test("a list that meets a damaged index fails once, and makes the entries again", async () => {
  const { driver, connect, mine } = setUp();
  await mine.create({ id: "a", title: "T" });
  driver.inner = new MemoryDriver().index;
  let isDamaged = true;
  driver.before = async (verb) => {
    if (verb !== "listEntries" || !isDamaged) return;
    isDamaged = false;
    throw new StoreError("CORRUPT", "the index is half there");
  };
  const chats = connect();
  await expect(chats.of("ada").list()).rejects.toMatchObject(storeError("CORRUPT"));
  await chats.flush();
  expect((await chats.of("ada").list()).chats).toMatchObject([{ id: "a", title: "T" }]);
});

test("rebuildLists lists chats by labels that are indexed since", async () => {
  const { connect, mine } = setUp();
  for (const id of ["a", "b", "c"]) await mine.create({ id, labels: { kind: id === "b" ? 1 : 2 } });
  const chats = connect(["kind"]);
  expect(await idsOf(chats.of("ada"), { labels: { kind: 2 } })).toEqual([]);
  expect(await chats.rebuildLists({ ownerId: "ada" })).toBe(3);
  expect(await idsOf(chats.of("ada"), { labels: { kind: 2 } })).toEqual(["a", "c"]);
  expect(await idsOf(chats.of("ada"))).toEqual(["a", "b", "c"]);
});

test("two servers that create one chat at the same moment do not keep deleteAll from ending, nor does a writer", async () => {
  const { connect, stores } = setUp();
  const [one, two] = [connect().of("ada"), connect().of("ada")];
  for (let round = 0; round < 5; round++)
    await Promise.allSettled(
      [one, two].map((mine) => mine.create({ id: `c${round}`, messages: [message("m")] })),
    );
  let isOver = false;
  let made = 0;
  const writing = (async () => {
    while (!isOver) {
      await one.create({ id: `new${made++}` });
      await otherEvents();
    }
  })();
  try {
    await vi.waitFor(() => expect(made).toBeGreaterThan(3));
    await two.deleteAll();
    expect((await idsOf(two)).filter((id) => id.startsWith("c"))).toEqual([]);
  } finally {
    isOver = true;
  }
  await writing;
  await two.deleteAll();
  expect((await stores.listIndexes()).names).toEqual([]);
  expect((await stores.listThreads()).threads).toEqual([]);
});

test("a chat is created although the outcome of the insert of its entry is unknown", async () => {
  for (const isInserted of [false, true]) {
    const { driver, stores, mine } = setUp();
    let isLost = true;
    const { insertEntry } = driver.index;
    driver.index.insertEntry = async (request) => {
      if (!isLost) return await insertEntry(request);
      isLost = false;
      if (isInserted) await insertEntry(request);
      throw new StoreError("UNAVAILABLE", "the connection was lost", { retryable: true });
    };
    await mine.create({ id: "c" });
    expect(await idsOf(mine)).toEqual(["c"]);
    await mine.delete("c");
    expect(await idsOf(mine)).toEqual([]);
    // The first entry, without content, expires in a day.
    expect((await stores.listIndexes()).names).toHaveLength(isInserted ? 1 : 0);
  }
});

test("a damaged entry, or one of another chat, hides no chat and keeps none from deletion, and is made again", async () => {
  const { stores, mine } = setUp();
  const index = stores.index("chats:open:ada");
  for (const id of ["a", "b"]) await mine.create({ id, title: `T ${id}` });
  const before = await mine.list();
  const [other] = await index.entriesOf("a");
  const [entry] = await index.entriesOf("b");
  if (!other || !entry) throw new Error("there are no entries");
  const { told, ...value } = entry.value as { told: object; listed: object };
  const values = [
    ...[
      {},
      "x",
      [],
      { listed: null },
      { ...value, listed: null },
      { ...value, listed: { key: "b", in: {} } },
    ],
    ...[null, 5, {}, { ...told, labels: null }, { ...told, title: 5 }].map((one) => ({
      ...value,
      told: one,
    })),
    other.value,
  ];
  const { version, order } = entry;
  for (const [n, damaged] of values.entries()) {
    await index.remove({ key: "b", id: entry.id });
    await index.insert({ key: "b", id: entry.id }, { version, order, value: damaged });
    if (damaged !== other.value) {
      expect(await mine.list(), JSON.stringify(damaged)).toEqual(before);
      expect((await mine.list({ labels: { no: 1 } })).chats).toEqual([]);
    }
    const { rebuilt } = await rebuildLists(stores);
    if (rebuilt === 0) continue;
    const [made] = await index.entriesOf("b");
    expect(await mine.list(), `${n}`).toEqual(before);
    await mine.delete("b");
    await mine.create({ id: "b", title: "T b" });
    const [again] = await index.entriesOf("b");
    if (!made || !again) throw new Error("there is no entry");
    Object.assign(entry, again);
    Object.assign(value, { ...(again.value as object), told: undefined });
    Object.assign(before, await mine.list());
  }
  await index.update(
    { key: "b", id: entry.id },
    { version: entry.version + 1, order: entry.order, value: {} },
  );
  await mine.deleteAll();
  expect((await stores.listThreads()).threads).toEqual([]);
});

test("a chat whose head does not say where it is listed is CORRUPT, stays listed over a rebuild, and is deleted", async () => {
  for (const listed of [
    null,
    5,
    { in: {} },
    { key: 5 },
    { in: { "chats:open:ada": 5 } },
    { in: null },
    { order: null },
  ]) {
    const { stores, mine } = setUp();
    await mine.create({ id: "a", title: "T" });
    const store = stores.open("chats:chat:ada:a");
    const head = (await store.read()).metadata as { listed: object };
    await store.commit({
      metadata: {
        ...head,
        listed: typeof listed === "object" && listed ? { ...head.listed, ...listed } : listed,
      },
    });
    await expect(mine.get("a"), JSON.stringify(listed)).rejects.toMatchObject(
      storeError("CORRUPT", /listed/),
    );
    await rebuildLists(stores);
    expect(await idsOf(mine)).toEqual(["a"]);
    await mine.deleteAll();
    expect((await stores.listThreads()).threads).toEqual([]);
    expect((await stores.listIndexes()).names).toEqual([]);
  }
});

test("wrong options are refused before any I/O", async () => {
  const { stores } = setUp();
  for (const indexedLabels of ["kind", [1], [""], Array(9).fill("a")])
    expect(() => new ChatStore({ stores, indexedLabels } as never)).toThrow(/indexedLabels must be/);
});

test("a creation that is refused leaves nothing in a list", async () => {
  const { stores, mine } = setUp();
  const refused = { ...message("m1"), metadata: { run: () => undefined } };
  await expect(mine.create({ id: "c", messages: [refused] })).rejects.toMatchObject(
    storeError("INVALID_ARGUMENT"),
  );
  expect((await stores.index("chats:open:ada").list()).entries).toEqual([]);
});

test("nothing keeps the process alive after a flush", async () => {
  const flushed = async () => {
    const { connect } = setUp();
    const chats = connect();
    await chats.of("ada").create({ id: "c" });
    await chats.of("ada").append("c", [message("m")]);
    expect(vi.getTimerCount()).toBe(1);
    await chats.flush();
    expect(vi.getTimerCount()).toBe(0);
  };
  await withFakeTimers(flushed, { toFake: ["setTimeout", "clearTimeout"] });
});

test("a page has as many chats as its limit, up to 1,000", async () => {
  const { mine } = setUp();
  for (let index = 0; index < 1_010; index++) await mine.create({ id: `c${index}` });
  expect((await mine.list({ limit: 1_000 })).chats).toHaveLength(1_000);
  const refused = mine.list({ limit: 1_001 });
  await expect(refused).rejects.toMatchObject(storeError("INVALID_ARGUMENT", /limit .* from 1 to 1000/));
});

const key = { id: "x".repeat(64), key: new Uint8Array(32) };

test.each([
  ["the JSON codec", jsonCodec],
  ["gzip", gzipCodec()],
  ["AES", aesGcmCodec({ keys: [key] })],
  ["AES over gzip", aesGcmCodec({ keys: [key], codec: gzipCodec() })],
])(
  "a chat whose ids, title, labels and texts are as long as they may be is in every list, with %s",
  async (_, codec) => {
    // JSON writes 6 bytes for such a character.
    const longest = (bytes: number) => "\u0001".repeat(bytes);
    const labels = Object.fromEntries(["a", "b", "c", "d", "e", "f", "g"].map((name) => [name, 1]));
    const rest = 1_024 - Buffer.byteLength(JSON.stringify({ ...labels, h: "" }));
    const fields = { title: longest(512), labels: { ...labels, h: "x".repeat(rest) }, pinned: true };
    const stores = createStores(new KeptDriver(), { codec, ttlMs: 3_600_000 });
    const chats = new ChatStore({ stores, indexedLabels: Object.keys(fields.labels) });
    // The longest escaped name.
    const mine = chats.of("x".repeat(200));
    const forkedFrom = { chatId: longest(1_024), messageId: longest(256) };
    const last = { ...message(longest(256)), content: longest(160) };
    const id = longest(1_024);
    await mine.create({ id, ...fields, forkedFrom, messages: [last] });
    await mine.update(id, { archived: true });
    for (const filter of [{}, { pinned: true }, { labels: { h: fields.labels.h } }]) {
      const { chats: listed } = await mine.list({ archived: true, ...filter });
      expect(listed).toMatchObject([{ id, ...fields, forkedFrom, lastMessage: { text: longest(160) } }]);
      expect((await mine.list(filter)).chats).toEqual([]);
    }
    await mine.delete(id);
    expect(await idsOf(mine, { archived: true })).toEqual([]);
  },
);
