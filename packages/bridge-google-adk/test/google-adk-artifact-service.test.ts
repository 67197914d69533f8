import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { InMemoryArtifactService } from "@google/adk";
import { type BlobStorage, ChatStore } from "@scrollback/chats";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { aesGcmCodec } from "@scrollback/store-core/codecs";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { describe, expect, test } from "vitest";
import { onMemory } from "../../../conformance-tests/test/fixtures/all-backends.ts";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { GoogleAdkArtifactService } from "../src/index.ts";
import { declareArtifactTests, image, newKey, shared } from "./artifact-tests.ts";

describe("ADK's own service", () => {
  const service = new InMemoryArtifactService();
  test.each(Object.entries(shared))("%s", (_, run) => run(service, service, newKey()));
});

onMemory(declareArtifactTests);

const url = scratchUrl("sqlite");
declareArtifactTests("SQLite", async () => createSqliteStores({ url }));

const key = { appName: "travel", userId: "ada", sessionId: "rome" };

type AesKey = NonNullable<Parameters<typeof aesGcmCodec>[0]>["keys"][number];

/** The ids of threads with messages, and the keys of entries of indexes that do not expire. */
async function left(stores: StoreFactory): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId, count } of stores.iterateThreads()) if (count > 0) found.push(threadId);
  const { names } = await stores.listIndexes({ limit: 100 });
  for (const name of names)
    for (const { key, expiresAt } of (await stores.index(name).list()).entries)
      if (expiresAt === undefined) found.push(`${name} ${key}`);
  return found;
}

function setUp() {
  const stores = createMemoryStores();
  const service = new GoogleAdkArtifactService({ stores });
  const remaining = async () => {
    await service.flush();
    return await left(stores);
  };
  const contents = async () =>
    (await remaining()).filter((id) => id.startsWith("scrollback:content:")).length;
  return { stores, service, remaining, contents };
}

test("a content is stored once for a user, apart from the versions, in all sessions", async () => {
  const { service, contents } = setUp();
  const artifact = image(100_000);
  const text = { text: "Tram 4\n".repeat(20_000) };
  for (const sessionId of ["rome", "oslo"])
    for (const filename of ["a.png", "b.png", "user:c.png"])
      await service.saveArtifact({ ...key, sessionId, filename, artifact });
  await service.saveArtifact({ ...key, filename: "text", artifact: text });
  expect(await contents()).toBe(2);
  await service.saveArtifact({ ...key, userId: "bob", filename: "a.png", artifact });
  expect(await contents()).toBe(3);
});

test("the messages of large artifacts are small", async () => {
  const { stores, service } = setUp();
  await service.saveArtifact({ ...key, filename: "a.png", artifact: image(100_000) });
  await service.saveArtifact({ ...key, filename: "a.png", artifact: { text: "x".repeat(100_000) } });
  const { threads } = await stores.listThreads({ prefix: "chats:chat:" });
  const page = await stores.open(threads[0]?.threadId).read();
  expect(page.entries).toHaveLength(2);
  expect(JSON.stringify(page.entries).length).toBeLessThan(2_000);
});

test("deletions of an artifact, a session and a user leave nothing of them", async () => {
  const { service, remaining, contents } = setUp();
  const save = (of: typeof key, filename: string) =>
    service.saveArtifact({ ...of, filename, artifact: image(70_000) });
  const oslo = { ...key, sessionId: "oslo" };
  for (const filename of ["a", "a", "b", "user:c"]) await save(key, filename);
  await save(oslo, "a");
  expect(await contents()).toBe(5);
  await service.deleteArtifact({ ...key, filename: "a" });
  expect(await contents()).toBe(3);
  await service.deleteSession(key);
  expect(await service.listArtifactKeys(key)).toEqual(["user:c"]);
  expect(await service.listArtifactKeys(oslo)).toEqual(["a", "user:c"]);
  expect(await contents()).toBe(2);
  const bob = { ...key, userId: "bob" };
  await save(bob, "a");
  await service.deleteUser({ appName: "travel", userId: "ada" });
  expect(await service.listArtifactKeys(bob)).toEqual(["a"]);
  expect(await contents()).toBe(1);
  await service.deleteUser({ appName: "travel", userId: "bob" });
  await service.deleteUser({ appName: "travel", userId: "bob" });
  expect(await remaining()).toEqual([]);
});

test("the artifacts are in no list of the users' chats, and a deletion of these chats does not delete them", async () => {
  const { stores, service } = setUp();
  await service.saveArtifact({ ...key, filename: "a", artifact: { text: "a" } });
  const chats = new ChatStore({ stores });
  for (const owner of ["ada", "travel", JSON.stringify(["travel", "ada"])]) {
    expect((await chats.of(owner).list()).chats).toEqual([]);
    await chats.of(owner).deleteAll();
  }
  expect((await chats.of('["google-adk-artifacts","travel","ada"]').list()).chats).toHaveLength(1);
  expect(await service.listArtifactKeys(key)).toEqual(["a"]);
});

test("a codec encrypts contents, file names and session ids at rest", async () => {
  const file = scratchUrl();
  await using stores = createSqliteStores({
    url: file,
    codec: aesGcmCodec({ keys: [{ id: "k", key: randomBytes(32) }] }),
  });
  await using service = new GoogleAdkArtifactService({ stores });
  const own = { ...key, sessionId: "hidden-session", filename: "hidden-plan.txt" };
  const artifacts = [{ text: "hidden text" }, { text: "hidden text ".repeat(10_000) }];
  for (const artifact of artifacts) await service.saveArtifact({ ...own, artifact });
  await service.flush();
  const path = file.slice("sqlite:".length);
  const bytes = Buffer.concat([readFileSync(path), readFileSync(`${path}-wal`)]);
  expect(bytes.includes("google-adk-artifacts")).toBe(true);
  for (const text of ["hidden-session", "hidden-plan", "hidden text"])
    expect(bytes.includes(text)).toBe(false);
  for (const [version, artifact] of artifacts.entries())
    expect(await service.loadArtifact({ ...own, version })).toEqual(artifact);
});

test("contents go to the given place, and leave it", async () => {
  const stored = new Map<string, Uint8Array>();
  const blobs: BlobStorage = {
    put: async (name, content) => void stored.set(name, content),
    get: async (name, { start = 0, end } = {}) => stored.get(name)?.subarray(start, end),
    delete: async (name) => void stored.delete(name),
  };
  const service = new GoogleAdkArtifactService({ stores: createMemoryStores(), blobs });
  const artifact = image(70_000);
  await service.saveArtifact({ ...key, filename: "a", artifact });
  const [content = new Uint8Array()] = stored.values();
  const digest = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
  expect(digest(content)).toBe(digest(Buffer.from(artifact.inlineData.data, "base64")));
  expect(await service.loadArtifact({ ...key, filename: "a" })).toEqual(artifact);
  await service.deleteArtifact({ ...key, filename: "a" });
  expect(stored.size).toBe(0);
});

test("a version that cannot be read is CORRUPT, and no other version gets its number", async () => {
  const driver = new MemoryDriver();
  const [a, b] = [
    { id: "a", key: randomBytes(32) },
    { id: "b", key: randomBytes(32) },
  ] as const;
  const open = (...keys: AesKey[]) => {
    const stores = createStores(driver, { codec: aesGcmCodec({ keys }), onCorruptRecord: () => undefined });
    return new GoogleAdkArtifactService({ stores });
  };
  const own = { ...key, filename: "a" };
  for (const [index, keys] of [[a], [b, a], [b, a]].entries())
    await open(...keys).saveArtifact({ ...own, artifact: { text: String(index) } });
  const service = open(b);
  expect(await service.loadArtifact(own)).toEqual({ text: "2" });
  for (const version of [0, 1, 2])
    await expect(service.loadArtifact({ ...own, version })).rejects.toMatchObject({ code: "CORRUPT" });
  await service.deleteArtifact(own);
  expect(await service.loadArtifact(own)).toBeUndefined();
});

test("ids and file names have the sizes of the limits", async () => {
  const { service } = setUp();
  const large = { ...key, sessionId: "s".repeat(1_024) };
  const filename = "\u00e9".repeat(512);
  expect(await service.saveArtifact({ ...large, filename, artifact: { text: "a" } })).toBe(0);
  expect(await service.listArtifactKeys(large)).toEqual([filename]);
});

test("a service lists more artifacts than a page has", async () => {
  const { service } = setUp();
  const names = Array.from({ length: 1_010 }, (_, n) => String(n).padStart(4, "0"));
  for (const filename of names)
    await service.saveArtifact({ ...key, filename, artifact: { text: filename } });
  expect(await service.listArtifactKeys(key)).toEqual(names);
  await service.deleteSession(key);
  expect(await service.listArtifactKeys(key)).toEqual([]);
});

test("invalid options, ids and artifacts are refused without I/O", async () => {
  const make = (options: object) => () => new GoogleAdkArtifactService(options as never);
  expect(make({ stores: createMemoryStores({ maxMessages: 5 }) })).toThrow(/maxMessages/);
  expect(make({ stores: createMemoryStores(), ttl: 5 })).toThrow(/unknown option "ttl"/);
  expect(make({ stores: createMemoryStores(), blobs: {} })).toThrow(/blobs/);
  const stores = createMemoryStores();
  const service = new GoogleAdkArtifactService({ stores });
  await stores.close();
  const save = (change: object) =>
    service.saveArtifact({ ...key, filename: "a", artifact: { text: "a" }, ...change } as never);
  const refused: [object, RegExp][] = [
    [{ appName: "" }, /^saveArtifact: appName must be/],
    [{ userId: 5 }, /^saveArtifact: userId must be/],
    [{ userId: "\uD800" }, /^saveArtifact: userId must be/],
    [{ userId: "u".repeat(1_000) }, /^saveArtifact: appName with userId must be at most 1024 bytes/],
    [{ sessionId: undefined }, /^saveArtifact: sessionId must be/],
    [{ filename: "" }, /^saveArtifact: filename must be/],
    [{ filename: "f".repeat(513) }, /^saveArtifact: filename must have at most 512 characters/],
    [{ customMetadata: { f: () => 1 } }, /customMetadata.f/],
    [{ artifact: undefined }, /^saveArtifact: artifact must have/],
    [{ artifact: { text: 5 } }, /^saveArtifact: artifact.text must be a string/],
    [
      { artifact: { inlineData: { data: randomBytes(3) } } },
      /^saveArtifact: artifact.inlineData.data must be/,
    ],
  ];
  for (const [change, message] of refused)
    await expect(save(change), String(message)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      message: expect.stringMatching(message),
    });
  for (const method of [
    "loadArtifact",
    "deleteArtifact",
    "listVersions",
    "listArtifactVersions",
    "getArtifactVersion",
  ] as const)
    await expect(service[method]({ ...key, filename: "" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  for (const method of ["listArtifactKeys", "deleteSession"] as const)
    await expect(service[method]({ ...key, sessionId: "" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  await expect(service.deleteUser({ appName: "travel", userId: "" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
  await expect(save({ filename: "f".repeat(512), sessionId: "s".repeat(1_024) })).rejects.toMatchObject({
    code: "CLOSED",
  });
});
