import { hash, randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores, StoreError } from "@scrollback/store-core";
import { aesGcmCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { describe, expect, test } from "vitest";
import { blobsIn } from "../../../conformance-tests/test/fixtures/blobs-in.ts";
import { type BlobStorage, ChatStore } from "../src/index.ts";

interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}
interface Message {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly parts: readonly Part[];
}

const photo = randomBytes(100_000);
const dataUrl = `data:image/png;base64,${photo.toString("base64")}`;
const withPhoto = (id: string, url = dataUrl): Message => ({
  id,
  role: "user",
  parts: [
    { type: "text", text: `Look: ${id}` },
    { type: "file", mediaType: "image/png", url },
  ],
});
const plain = (id: string): Message => ({ id, role: "assistant", parts: [{ type: "text", text: id }] });

function setUp() {
  const stores = createMemoryStores();
  const chats = new ChatStore<Message>({ stores });
  const blobs = async () => {
    await chats.flush();
    const found: string[] = [];
    for await (const { threadId, count } of stores.iterateThreads({ prefix: "scrollback:content:" }))
      if (count > 0) found.push(threadId);
    return found.length;
  };
  const left = async () => {
    await chats.flush();
    const { names } = await stores.listIndexes({ limit: 100 });
    const all = await Promise.all(
      names.map(async (name) => [name, (await stores.index(name).list()).entries] as const),
    );
    return all
      .flatMap(([name, entries]) =>
        entries
          .filter(({ expiresAt }) => expiresAt === undefined)
          .map(({ key, id }) => `${name} ${key} ${id}`),
      )
      .filter((name) => name.startsWith("files:") || name.startsWith("contents:"));
  };
  return { stores, chats, mine: chats.of("ada"), blobs, left };
}
const messages = (page: { entries: readonly { message: Message }[] } | undefined) =>
  page?.entries.map(({ message }) => message);

describe("files", () => {
  test.each<[string, Message]>([
    ["a data URL", withPhoto("m")],
    [
      "base64 of a file part",
      {
        id: "m",
        role: "user",
        parts: [{ type: "file", mediaType: "image/png", data: photo.toString("base64") }],
      },
    ],
    [
      "bytes",
      {
        id: "m",
        role: "user",
        parts: [{ type: "file", mediaType: "image/png", data: new Uint8Array(photo) }],
      },
    ],
    [
      "the same content three times",
      {
        id: "m",
        role: "user",
        parts: [
          ...withPhoto("a").parts,
          ...withPhoto("b").parts,
          { type: "x", data: photo.toString("base64") },
        ],
      },
    ],
  ])("are stored apart and read whole: %s", async (_, message) => {
    const { stores, mine, blobs } = setUp();
    await mine.create({ id: "c", messages: [message] });
    expect(messages(await mine.read("c"))).toEqual([message]);
    expect(await blobs()).toBe(1);
    expect(JSON.stringify((await stores.open("chats:chat:ada:c").read()).entries).length).toBeLessThan(5_000);
    await mine.append("c", [message]);
    expect((await mine.read("c"))?.entries).toHaveLength(1);
    await mine.delete("c");
    expect(await blobs()).toBe(0);
  });

  test("a content is stored once for an owner, and erased with its last message", async () => {
    const { mine, chats, blobs, left } = setUp();
    await mine.create({ id: "a", messages: [withPhoto("1"), withPhoto("2")] });
    await mine.create({ id: "b", messages: [withPhoto("1")] });
    const fork = await mine.fork("a");
    expect(await blobs()).toBe(1);
    await chats.of("eve").create({ id: "a", messages: [withPhoto("1")] });
    expect(await blobs()).toBe(2);
    await chats.of("eve").delete("a");
    await mine.delete("b");
    await mine.truncate("a", { behind: null });
    expect(await blobs()).toBe(1);
    expect(messages(await mine.read(fork.id))).toEqual([withPhoto("1"), withPhoto("2")]);
    await mine.truncate(fork.id, { from: "1" });
    expect(await blobs()).toBe(0);
    expect(await left()).toEqual([]);
  });

  test("go with their message through edits, siblings, moves, exports and runs", async () => {
    const { mine, chats, blobs, left } = setUp();
    await mine.create({ id: "c", messages: [withPhoto("q"), plain("a")] });
    await mine.edit("c", "q", withPhoto("q2"), { keepSibling: true });
    expect(await blobs()).toBe(1);
    await mine.edit("c", "q2", plain("q3"), { keepSibling: true });
    expect(messages(await mine.read("c"))).toEqual([plain("q3")]);
    await mine.switchTo("c", "q");
    expect(messages(await mine.read("c"))).toEqual([withPhoto("q"), plain("a")]);
    const exported = await mine.export("c");
    await chats.move("c", { from: "ada", to: "eve" });
    expect(messages(await chats.of("eve").read("c"))).toEqual([withPhoto("q"), plain("a")]);
    expect(await blobs()).toBe(1);
    await chats.of("eve").switchTo("c", "q2");
    expect(messages(await chats.of("eve").read("c"))).toEqual([withPhoto("q2")]);
    await chats.of("eve").delete("c");
    expect(await blobs()).toBe(0);
    expect(await left()).toEqual([]);
    await mine.import(exported, { id: "d" });
    expect(await mine.export("d")).toMatchObject({ entries: exported?.entries });
    expect(await blobs()).toBe(1);
    const run = await mine.begin("d", { append: [withPhoto("q4")] });
    const answer = { ...withPhoto("x"), id: run.messageId, role: "assistant" as const };
    run.update(answer);
    await run.save();
    run.update({ ...answer, parts: [...answer.parts, { type: "text", text: "more" }] });
    await run.end({ status: "complete" });
    expect(messages(await mine.read("d", { limit: 1 }))?.[0]?.parts).toHaveLength(3);
    expect(await blobs()).toBe(1);
    await mine.delete("d");
    expect(await blobs()).toBe(0);
    expect(await left()).toEqual([]);
  });

  test("of a message that the store refuses are erased", async () => {
    const { mine, blobs, left } = setUp();
    const refused = { ...withPhoto("q"), run: () => undefined };
    await expect(mine.create({ messages: [refused] })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await blobs()).toBe(0);
    const symbolic = { ...withPhoto("q"), [Symbol("s")]: 1 };
    await expect(mine.create({ messages: [symbolic] })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await mine.create({ id: "c", messages: [plain("a")] });
    await expect(mine.append("c", [refused])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await blobs()).toBe(0);
    expect(await left()).toEqual([]);
  });

  test("of a creation that did not come to its end go with deleteAll, after an hour", async () => {
    const driver = new MemoryDriver();
    const commit = driver.commit.bind(driver);
    let now = Date.now();
    const chats = new ChatStore<Message>({ stores: createStores(driver), now: () => now });
    const mine = chats.of("ada");
    driver.commit = async (request) => {
      if (request.threadId.startsWith("chats:"))
        throw new StoreError("UNAVAILABLE", "the process dies", { retryable: true });
      return await commit(request);
    };
    await expect(mine.create({ messages: [withPhoto("q")] })).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await chats.flush();
    driver.commit = commit;
    const blobs = async () => {
      const request = { prefix: "scrollback:content:", limit: 9, cursor: undefined, signal: undefined };
      return (await driver.list(request)).threads.filter(({ count }) => count > 0).length;
    };
    await mine.deleteAll();
    // Its commit may still be under way.
    expect(await blobs()).toBe(1);
    now += 3_700_000;
    await chats.of("eve").deleteAll();
    expect(await blobs()).toBe(1);
    await mine.deleteAll();
    expect(await blobs()).toBe(0);
  });

  test("a deleted sibling's files go with it", async () => {
    const { mine, blobs, left } = setUp();
    await mine.create({ id: "c", messages: [withPhoto("q")] });
    await mine.edit("c", "q", plain("q2"), { keepSibling: true });
    expect(await blobs()).toBe(1);
    await mine.deleteSibling("c", "q");
    expect(await blobs()).toBe(0);
    expect(await left()).toEqual([]);
  });

  test("references need no content, and can be written back", async () => {
    const { mine, blobs } = setUp();
    await mine.create({ id: "c", messages: [withPhoto("q")] });
    const page = await mine.read("c", { files: "references" });
    const [entry] = page?.entries ?? [];
    expect(JSON.stringify(entry).length).toBeLessThan(500);
    expect(entry?.files).toHaveLength(1);
    const fileId = entry?.files?.[0] ?? "";
    expect(await mine.readFile(fileId)).toEqual({ content: new Uint8Array(photo), size: photo.length });
    const range = await mine.readFile(fileId, { start: 10, end: 20 });
    expect(range).toEqual({ content: new Uint8Array(photo.subarray(10, 20)), size: photo.length });
    expect(await mine.withFiles(entry?.message, [fileId])).toEqual(withPhoto("q"));
    expect(await mine.withFiles(entry?.message, [])).toEqual(entry?.message);
    if (entry) await mine.append("c", [{ ...entry.message, id: "again" }]);
    expect(messages(await mine.read("c"))).toEqual([withPhoto("q"), { ...withPhoto("q"), id: "again" }]);
    await mine.truncate("c", { behind: null });
    expect(await blobs()).toBe(0);
  });

  test("go with a chat that has expired, when a list finds that, also if one of its id was begun meanwhile, or the chat is deleted", async () => {
    const driver = new MemoryDriver();
    const chats = new ChatStore<Message>({ stores: createStores(driver, { ttlMs: 200 }) });
    const mine = chats.of("ada");
    const blobs = () =>
      driver.list({ prefix: "scrollback:content:", limit: 100, cursor: undefined, signal: undefined });
    for (const id of ["a", "b"]) await mine.create({ id, messages: [withPhoto(id)] });
    await mine.create({
      id: "c",
      messages: [
        {
          ...withPhoto("c"),
          parts: [{ type: "file", url: `data:image/png;base64,${randomBytes(100_000).toString("base64")}` }],
        },
      ],
    });
    await chats.flush();
    expect((await blobs()).threads).toHaveLength(2);
    await sleep(300);
    expect((await blobs()).threads).toHaveLength(2);
    await mine.delete("c");
    expect((await blobs()).threads.filter(({ count }) => count > 0)).toHaveLength(1);
    await mine.create({ id: "a", messages: [plain("again")] });
    expect((await mine.list()).chats).toHaveLength(1);
    await chats.flush();
    expect((await blobs()).threads.filter(({ count }) => count > 0)).toEqual([]);
  });

  test("with a codec that encrypts, neither the content nor its hash is readable, and a content is still stored once", async () => {
    const driver = new MemoryDriver();
    const codec = aesGcmCodec({ keys: [{ id: "k", key: randomBytes(32) }] });
    const mine = new ChatStore<Message>({ stores: createStores(driver, { codec }) }).of("ada");
    await mine.create({ id: "a", messages: [withPhoto("1")] });
    await mine.create({ id: "b", messages: [withPhoto("2")] });
    const base64 = photo.toString("base64");
    const { keys } = await driver.index
      .listEntries({
        index: "contents:ada",
        direction: "up",
        limit: 100,
        after: undefined,
        signal: undefined,
      })
      .then(({ entries }) => ({ keys: entries.map(({ key }) => key) }));
    expect(new Set(keys).size).toBe(1);
    expect(keys).not.toContain(hash("sha256", base64, "base64url"));
    expect(messages(await mine.read("b"))).toEqual([withPhoto("2")]);
    await mine.append("b", [withPhoto("2")]);
    expect((await mine.read("b"))?.entries).toHaveLength(1);
  });

  test("outlive a rotation of keys, and are erased without a key", async () => {
    const driver = new MemoryDriver();
    const [old, fresh] = ["old", "new"].map((id) => ({ id, key: randomBytes(32) }));
    const chatsWith = (...keys: (typeof old)[]) => {
      const codec = aesGcmCodec({ keys: keys.flatMap((key) => key ?? []) });
      const stores = createStores(driver, { codec });
      return { stores, mine: new ChatStore<Message>({ stores }).of("ada") };
    };
    const before = chatsWith(old);
    for (const id of ["a", "b"]) await before.mine.create({ id, messages: [withPhoto(id)] });
    const { stores } = chatsWith(fresh, old);
    for await (const { threadId } of stores.iterateThreads()) {
      const { entries, metadata, revision } = await stores.open(threadId).read();
      const append = entries.map(({ message }) => message);
      await stores.open(threadId).commit({ drop: "all", append, metadata }, { expectedRevision: revision });
    }
    const { mine } = chatsWith(fresh);
    expect(messages(await mine.read("a"))).toEqual([withPhoto("a")]);
    await mine.append("a", [withPhoto("c")]);
    await mine.delete("a");
    expect(messages(await mine.read("b"))).toEqual([withPhoto("b")]);
    const { mine: keyless } = chatsWith({ id: "another", key: randomBytes(32) });
    await keyless.delete("b");
    const request = { prefix: "scrollback:content:", limit: 9, cursor: undefined, signal: undefined };
    expect((await driver.list(request)).threads.filter(({ count }) => count > 0)).toEqual([]);
  });

  test("a reader beside a writer that replaces a photo always gets one", async () => {
    const { mine } = setUp();
    const other = () => `data:image/png;base64,${randomBytes(70_000).toString("base64")}`;
    await mine.create({ id: "c", messages: [withPhoto("q", other())] });
    let isWriting = true;
    const writing = (async () => {
      for (let made = 0; made < 60; made++) await mine.edit("c", "q", withPhoto("q", other()));
      isWriting = false;
    })();
    const following = mine.follow("c", { everyMs: 1 })[Symbol.asyncIterator]();
    while (isWriting) {
      expect((await mine.read("c"))?.entries).toHaveLength(1);
      expect(await mine.readMessage("c", "q")).toBeDefined();
      expect(await mine.export("c")).toBeDefined();
      expect((await following.next()).value).toMatchObject({ type: "changed" });
    }
    await following.return?.(undefined);
    await writing;
  });

  test("a fork fails whose source is deleted meanwhile", async () => {
    const driver = new MemoryDriver();
    const mine = new ChatStore<Message>({ stores: createStores(driver) }).of("ada");
    await mine.create({ id: "c", messages: [withPhoto("q")] });
    const insert = driver.index.insertEntry.bind(driver.index);
    driver.index.insertEntry = async (put) => {
      if (put.index === "files:chats:chat:ada:fork") await mine.delete("c");
      return await insert(put);
    };
    await expect(mine.fork("c", { id: "fork" })).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await mine.get("fork")).toBeUndefined();
  });

  test("of which a part is gone are CORRUPT", async () => {
    const contents = new Map<string, Uint8Array>();
    const blobs = blobsIn(contents);
    const mine = new ChatStore<Message>({ stores: createMemoryStores(), blobs }).of("ada");
    await mine.create({ id: "c", messages: [withPhoto("q")] });
    const [fileId = ""] = (await mine.read("c", { files: "references" }))?.entries[0]?.files ?? [];
    for (const [key, content] of contents) contents.set(key, content.subarray(0, 500));
    await expect(mine.read("c")).rejects.toMatchObject({ code: "CORRUPT" });
    await expect(mine.readFile(fileId, { start: 400, end: 600 })).rejects.toMatchObject({ code: "CORRUPT" });
  });

  test("of two writers leave nothing in another storage", async () => {
    const contents = new Map<string, Uint8Array>();
    let isSlow = true;
    const begun = Promise.withResolvers<void>();
    const blobs: BlobStorage = {
      ...blobsIn(contents),
      async put(key, content) {
        const slow = isSlow;
        isSlow = false;
        begun.resolve();
        if (slow) await sleep(100);
        contents.set(key, content);
      },
    };
    const stores = createMemoryStores();
    const [one, other] = [1, 2].map(() => new ChatStore<Message>({ stores, blobs }));
    await one?.of("ada").create({ id: "c", messages: [plain("a")] });
    const photoOf = (id: string) =>
      withPhoto(id, `data:image/png;base64,${randomBytes(70_000).toString("base64")}`);
    const slow = one?.of("ada").append("c", [photoOf("slow")]);
    await begun.promise;
    await other?.of("ada").append("c", [photoOf("quick")]);
    await other?.flush();
    await slow;
    await one?.flush();
    expect(contents.size).toBe(2);
    await one?.of("ada").delete("c");
    expect(contents.size).toBe(0);
  });

  test("a text that looks like a reference stays a text", async () => {
    const { mine } = setUp();
    const text = `scrollback-file:${"A".repeat(43)}:bytes`;
    const message: Message = { id: "m", role: "user", parts: [{ type: "text", text }] };
    await mine.create({ id: "c", messages: [message] });
    expect(messages(await mine.read("c"))).toEqual([message]);
  });
});
