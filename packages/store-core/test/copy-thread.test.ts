import { describe, expect, test } from "vitest";
import { type CommitRequest, createStores, MemoryDriver } from "../src/driver.ts";
import { createMemoryStores, type StoreFactory } from "../src/index.ts";

const user = (content: string) => ({ role: "user" as const, content });
const PROGRESS = "scrollback.copy";

/** A memory driver that records the requested commits, and accepts a limited number of messages per commit. */
class WatchedDriver extends MemoryDriver {
  readonly commits: CommitRequest[] = [];

  constructor(maxCommitMessages = Number.MAX_SAFE_INTEGER) {
    super();
    Object.assign(this, { capabilities: { ...this.capabilities, maxCommitMessages } });
  }

  override async commit(request: CommitRequest) {
    this.commits.push(request);
    return await super.commit(request);
  }
}

async function threadOf(stores: StoreFactory, count: number): Promise<void> {
  const messages = Array.from({ length: count }, (_, index) => user(`${index + 1}`));
  await stores.open("from").commit({ append: messages, metadata: { title: "kept" } }, { createdAt: 1_000 });
}

const textsOf = async (stores: StoreFactory, threadId = "to") =>
  (await stores.open(threadId).listMessages()).map(({ content }) => content);

describe("copyThread", () => {
  test("makes one commit if the messages fit, under an operation id derived from the copy", async () => {
    const driver = new WatchedDriver();
    const stores = createStores(driver);
    await threadOf(stores, 500);
    await stores.copyThread("from", "to");
    const [, copy] = driver.commits;
    expect(driver.commits).toHaveLength(2);
    expect(copy).toMatchObject({
      threadId: "to",
      expectedRevision: null,
      createdAt: 1_000,
      updatedAt: 1_000,
    });
    expect(copy?.operationId).toMatch(/^copy:[\w-]{43}$/);
    expect(copy?.isNewOperation, "an earlier call may have used the id").toBe(false);
    expect(copy?.metadata).not.toContain(PROGRESS);
  });

  test("makes several commits otherwise, each at the revision of the previous one, and the last without progress", async () => {
    const driver = new WatchedDriver(200);
    const stores = createStores(driver);
    for (let from = 0; from < 3; from++) await threadOf(stores, 200);
    driver.commits.length = 0;
    const { revision, copied } = await stores.copyThread("from", "to");
    expect(copied).toBe(600);
    expect(driver.commits.map(({ append }) => append.length)).toEqual([125, 188, 187, 100, 0]);
    const expected = driver.commits.map((commit) => commit.expectedRevision);
    expect(expected[0]).toBeNull();
    expect(new Set(expected).size).toBe(5);
    expect(driver.commits.map(({ metadata }) => metadata?.includes(PROGRESS))).toEqual([
      ...Array(4).fill(true),
      false,
    ]);
    const page = await stores.open("to").read();
    expect(page).toMatchObject({ revision, count: 600, metadata: { title: "kept" }, createdAt: 1_000 });
  });

  test("does not take the target's own metadata under that key for its progress", async () => {
    const stores = createMemoryStores();
    await threadOf(stores, 3);
    const after = (await stores.open("from").read()).newer;
    for (const copy of ["another", "", 7]) {
      const progress = { [PROGRESS]: { version: 1, copy, after, copied: 1 } };
      await stores.open("to").replaceMessages([user("own")]);
      await stores.open("to").commit({ metadata: progress });
      await expect(stores.copyThread("from", "to")).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await textsOf(stores)).toEqual(["own"]);
    }
  });

  test("fails with TOO_LARGE for a message that fits no commit of the target, and keeps earlier ones for a repeated call", async () => {
    const source = createMemoryStores();
    for (const text of ["a", "b", "x".repeat(2_000), "c"])
      await source.open("from").addMessages([user(text)]);
    const driver = new WatchedDriver();
    const target = createStores(
      Object.assign(driver, { capabilities: { ...driver.capabilities, maxCommitBytes: 1_000 } }),
    );
    await expect(source.copyThread("from", "to", { target })).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect(await textsOf(target)).toEqual(["a", "b"]);
    Object.assign(driver, { capabilities: new MemoryDriver().capabilities });
    expect((await source.copyThread("from", "to", { target })).copied).toBe(2);
    expect(await textsOf(target)).toHaveLength(4);
  });

  test("refuses upTo of another incarnation, and copies no message behind it", async () => {
    const stores = createMemoryStores();
    await threadOf(stores, 3);
    const old = (await stores.open("from").read()).newer;
    await stores.deleteThread("from");
    await threadOf(stores, 5);
    const copy = stores.copyThread("from", "to", { ...(old && { upTo: old }) });
    await expect(copy).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(await textsOf(stores)).toEqual([]);
    const page = await stores.open("from").read({ limit: 2 });
    const rest = await stores.open("from").read({ ...(page.older && { before: page.older }) });
    await stores.copyThread("from", "branch", { ...(rest.newer && { upTo: rest.newer }) });
    expect(await textsOf(stores, "branch")).toEqual(["1", "2", "3"]);
  });

  test("rejects with an error of onProgress, and keeps the commit before it", async () => {
    const stores = createStores(new WatchedDriver(2));
    for (let number = 1; number <= 5; number++) await stores.open("from").addMessages([user(`${number}`)]);
    const stopped = new Error("stopped");
    const seen: unknown[] = [];
    const onProgress = (progress: unknown) => {
      seen.push(progress);
      throw stopped;
    };
    await expect(stores.copyThread("from", "to", { onProgress })).rejects.toBe(stopped);
    expect(seen).toEqual([{ copied: 2, total: 5 }]);
    expect(await textsOf(stores)).toEqual(["1", "2"]);
    expect((await stores.copyThread("from", "to")).copied).toBe(3);
  });
});
