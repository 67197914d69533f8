import { describe, expect, test } from "vitest";
import type { UnreadableThread } from "../src/driver/driver.ts";
import { createStores, type ListRequest, MemoryDriver } from "../src/driver.ts";
import type { ListThreadsOptions } from "../src/factory/list-threads.ts";
import { createMemoryStores, type StoreError } from "../src/index.ts";

/** A memory driver that records the requested lists. */
class WatchedDriver extends MemoryDriver {
  readonly requests: ListRequest[] = [];
  corrupt: UnreadableThread[] = [];

  override async list(request: ListRequest) {
    this.requests.push(request);
    return { ...(await super.list(request)), corrupt: this.corrupt };
  }
}

describe("listThreads", () => {
  test("requests 100 threads with any id from the driver by default", async () => {
    const driver = new WatchedDriver();
    const stores = createStores(driver);
    await stores.listThreads();
    await stores.listThreads({ prefix: "a%", limit: 7, cursor: "12" });
    expect(driver.requests).toEqual([
      { prefix: "", limit: 100, cursor: undefined, sizes: false, signal: undefined },
      { prefix: "a%", limit: 7, cursor: "12", sizes: false, signal: undefined },
    ]);
  });

  test.each<[string, unknown]>([
    ["limit must be an integer from 1 to 1000", { limit: 0 }],
    ["limit must be an integer from 1 to 1000", { limit: 1_001 }],
    ["limit must be an integer from 1 to 1000", { limit: 1.5 }],
    ["prefix must be well-formed text", { prefix: "\ud800" }],
    ["prefix must be well-formed text", { prefix: 7 }],
    ["cursor must be a non-empty string", { cursor: "" }],
    ["signal", { signal: {} }],
    ['unknown option "order"', { order: "newest" }],
  ])("%s fails before any request to the driver", async (problem, options) => {
    const driver = new WatchedDriver();
    const stores = createStores(driver);
    const refused = { code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) };
    await expect(stores.listThreads(options as ListThreadsOptions)).rejects.toMatchObject(refused);
    const threads = stores.iterateThreads(options as ListThreadsOptions)[Symbol.asyncIterator]();
    await expect(threads.next()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(driver.requests).toEqual([]);
  });

  test("a thread that the driver cannot list fails with CORRUPT, or is passed to onCorruptRecord", async () => {
    const driver = new WatchedDriver();
    await createStores(driver).open("sound").commit({ metadata: "title" });
    driver.corrupt = [{ threadId: "damaged", problem: "its head is gone" }];
    await expect(createStores(driver).listThreads()).rejects.toMatchObject({
      code: "CORRUPT",
      threadId: "damaged",
      message: 'thread "damaged" cannot be listed: its head is gone',
    });
    const reported: StoreError[] = [];
    const stores = createStores(driver, { onCorruptRecord: (error) => reported.push(error) });
    const { threads } = await stores.listThreads();
    expect(threads.map(({ threadId }) => threadId)).toEqual(["sound"]);
    expect(reported).toMatchObject([{ threadId: "damaged" }]);
  });

  test("iterateThreads sends no request after its reader stops", async () => {
    const driver = new WatchedDriver();
    const stores = createStores(driver);
    for (let thread = 0; thread < 9; thread++) await stores.open(`${thread}`).commit({ metadata: thread });
    for await (const { threadId } of stores.iterateThreads({ limit: 2 })) if (threadId === "3") break;
    expect(driver.requests).toHaveLength(2);
  });
});

describe("open with settings", () => {
  test("they take precedence over the factory's; undefined counts as omitted", async () => {
    const stores = createMemoryStores({ maxMessages: 9, ttlMs: 5_000 });
    const open = (settings?: object) => stores.open("t", settings).serialize();
    expect(await open()).toMatchObject({ maxMessages: 9, ttlMs: 5_000 });
    expect(await open({ maxMessages: 2, trimming: "exact" })).toMatchObject({
      maxMessages: 2,
      trimming: "exact",
      ttlMs: 5_000,
    });
    expect(await open({ maxMessages: undefined })).toMatchObject({ maxMessages: 9 });
    expect(stores.settings).toEqual({ backend: "memory", maxMessages: 9, ttlMs: 5_000 });
  });

  test.each<[string, unknown]>([
    ["maxMessages", { maxMessages: 0 }],
    ["trimming", { trimming: "all" }],
    ["ttlMs", { ttlMs: 0.5 }],
    ['unknown option "codec"', { codec: {} }],
    ["options must be an object", 5],
    ["options must be an object", null],
  ])("%s: refused at once", (problem, settings) => {
    const open = () => createMemoryStores().open("t", settings as object);
    expect(open).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining(problem) }),
    );
  });

  test("ttlMs fails with UNSUPPORTED if threads cannot expire", async () => {
    const driver = new MemoryDriver();
    Object.assign(driver, { capabilities: { ...driver.capabilities, expiry: false } });
    const stores = createStores(driver);
    expect(() => stores.open("t", { ttlMs: 5 })).toThrow(expect.objectContaining({ code: "UNSUPPORTED" }));
    const store = stores.open("t");
    await store.addMessages([{ role: "user", content: "a" }]);
    await expect(store.expire(5)).rejects.toMatchObject({ code: "UNSUPPORTED" });
    expect(await store.expire(null)).not.toBeNull();
  });
});
