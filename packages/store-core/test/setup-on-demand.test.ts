import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createStores, type Driver, type ErrorClassification, MemoryDriver } from "../src/driver.ts";

const errors: Readonly<Record<string, ErrorClassification>> = {
  missing: { code: "UNAVAILABLE", message: "no table", isMissing: true },
  refused: { code: "UNAVAILABLE", message: "may not create" },
  away: { code: "UNAVAILABLE", message: "away", retryable: true },
};

const warnings: unknown[] = [];
beforeEach(() => {
  vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(warning));
});
afterEach(() => {
  vi.restoreAllMocks();
  warnings.length = 0;
});

interface Backend {
  /** What each setup does, in turn; the last one also for all that follow. Default: makes the table. */
  readonly setups?: readonly ("makes" | "refused" | "away" | "hangs")[];
  readonly worksWithoutSetup?: boolean;
  readonly sendsOnce?: boolean;
}

/** A driver in memory that refuses requests until its setup has made the table. */
function backendOf({ setups = ["makes"], worksWithoutSetup = false, sendsOnce = false }: Backend = {}) {
  const memory = new MemoryDriver();
  const calls: string[] = [];
  const state = { isMade: false, calls, setups: 0, finish: (): void => undefined };
  const sent = async <T>(name: string, request: () => Promise<T>): Promise<T> => {
    calls.push(name);
    if (!state.isMade && !worksWithoutSetup) throw new Error("missing");
    return await request();
  };
  const driver: Driver = {
    capabilities: memory.capabilities,
    worksWithoutSetup,
    sendsOnce,
    commit: (request) => sent("commit", () => memory.commit(request)),
    read: (request) => sent("read", () => memory.read(request)),
    delete: (request) => sent("delete", () => memory.delete(request)),
    list: (request) => sent("list", () => memory.list(request)),
    index: {
      ...memory.index,
      insertEntry: (request) => sent("insertEntry", () => memory.index.insertEntry(request)),
    },
    close: () => memory.close(),
    classifyError: (error) => (error instanceof Error ? errors[error.message] : undefined),
    async setup() {
      calls.push("setup");
      const how = setups[Math.min(state.setups++, setups.length - 1)] ?? "makes";
      if (how === "refused" || how === "away") throw new Error(how);
      if (how === "hangs") await new Promise<void>((resolve) => (state.finish = resolve));
      const made = state.isMade ? undefined : 'the table "threads"';
      state.isMade = true;
      return made;
    },
  };
  return { driver, state, calls };
}

const hello = [{ role: "user", content: "hello" }] as const;
const notice = 'setup: memory: made the table "threads"';

test("C14 the first request that finds a table missing makes it, once, and tells it once", async () => {
  const { driver, calls } = backendOf();
  const stores = createStores(driver, { setup: true });
  const store = stores.open("a");
  await store.addMessages(hello);
  expect(await store.listMessages()).toEqual(hello);
  expect(calls).toEqual(["commit", "setup", "commit", "read"]);
  expect(warnings).toEqual([notice]);
});

test("C14 requests of every kind make what is missing", async () => {
  for (const call of [
    (stores: ReturnType<typeof createStores>) => stores.open().read(),
    (stores: ReturnType<typeof createStores>) => stores.deleteThread("a"),
    (stores: ReturnType<typeof createStores>) => stores.listThreads(),
    (stores: ReturnType<typeof createStores>) => stores.open().read({ signal: new AbortController().signal }),
    (stores: ReturnType<typeof createStores>) =>
      stores.index("i").insert({ key: "k", id: "1" }, { version: 0, order: 0, value: 1 }),
    (stores: ReturnType<typeof createStores>) =>
      stores
        .withTraits({ role: () => "user", toolCalls: () => [], toolResults: () => [] })
        .open()
        .read(),
  ]) {
    const { driver, calls } = backendOf();
    await call(createStores(driver, { setup: true }));
    expect(calls.filter((name) => name === "setup")).toHaveLength(1);
  }
});

test("C14 nothing is made where all is there, nor without the option", async () => {
  const there = backendOf({ setups: ["refused"] });
  there.state.isMade = true;
  await createStores(there.driver, { setup: true }).open().addMessages(hello);
  expect(there.calls).toEqual(["commit"]);
  for (const options of [{}, { setup: false }]) {
    const { driver, calls } = backendOf();
    const failed = createStores(driver, options).open().addMessages(hello);
    await expect(failed).rejects.toMatchObject({
      code: "UNAVAILABLE",
      message: "no table",
      retryable: false,
    });
    expect(calls).toEqual(["commit"]);
  }
  expect(warnings).toEqual([]);
});

test("C14 first calls at once share one setup", async () => {
  const { driver, state, calls } = backendOf({ setups: ["hangs"] });
  const stores = createStores(driver, { setup: true });
  const all = ["a", "b", "c"].map((threadId) => stores.open(threadId).addMessages(hello));
  await vi.waitFor(() => expect(calls).toContain("setup"));
  state.finish();
  await Promise.all(all);
  expect(calls.filter((name) => name === "setup")).toHaveLength(1);
  expect(warnings).toEqual([notice]);
});

test("C14 a setup that was refused fails the call with its reason, and the next call tries again", async () => {
  const { driver } = backendOf({ setups: ["refused", "makes"] });
  const store = createStores(driver, { setup: true }).open();
  await expect(store.addMessages(hello)).rejects.toMatchObject({
    message: "may not create",
    retryable: false,
  });
  await store.addMessages(hello);
  expect(await store.listMessages()).toEqual(hello);
});

test("C14 an outage during the setup is waited for", async () => {
  const { driver } = backendOf({ setups: ["away", "away", "makes"] });
  const store = createStores(driver, { setup: true }).open();
  await store.addMessages(hello);
  expect(await store.listMessages()).toEqual(hello);
});

test("C15 a call that is aborted during the setup leaves it to the next call", async () => {
  const { driver, state, calls } = backendOf({ setups: ["hangs"] });
  const store = createStores(driver, { setup: true }).open();
  const controller = new AbortController();
  const aborted = store.addMessages(hello, { signal: controller.signal });
  await vi.waitFor(() => expect(calls).toContain("setup"));
  controller.abort();
  await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
  const next = store.listMessages();
  state.finish();
  expect(await next).toEqual([]);
  expect(calls.filter((name) => name === "setup")).toHaveLength(1);
});

test("C14 a factory that is closed during the setup sends nothing after it", async () => {
  const { driver, state, calls } = backendOf({ setups: ["hangs"] });
  const stores = createStores(driver, { setup: true });
  const closed = stores.open().addMessages(hello);
  await vi.waitFor(() => expect(calls).toContain("setup"));
  await stores.close();
  state.finish();
  await expect(closed).rejects.toMatchObject({ code: "CLOSED" });
  expect(calls).toEqual(["commit", "setup"]);
});

test("C14 in a transaction of the caller, which the error has ended, the call fails with what is missing", async () => {
  const { driver } = backendOf({ setups: ["refused"], sendsOnce: true });
  const failed = createStores(driver, { setup: true }).open().addMessages(hello);
  await expect(failed).rejects.toMatchObject({ message: "no table" });
});

test("C14 a backend that works without its indexes is set up before the first call, once", async () => {
  const { driver, calls } = backendOf({ worksWithoutSetup: true });
  const store = createStores(driver, { setup: true }).open();
  await store.addMessages(hello);
  await store.listMessages();
  expect(calls).toEqual(["setup", "commit", "read"]);
  expect(warnings).toEqual([notice]);
  const prepared = backendOf({ worksWithoutSetup: true });
  const stores = createStores(prepared.driver, { setup: true });
  await stores.setup();
  await stores.open().read();
  expect(prepared.calls).toEqual(["setup", "commit", "read"]);
});

test("C14 a backend that works without its indexes works where its setup is refused, with one warning", async () => {
  const { driver, calls } = backendOf({ worksWithoutSetup: true, setups: ["refused"] });
  const store = createStores(driver, { setup: true }).open();
  await store.addMessages(hello);
  await store.listMessages();
  expect(calls).toEqual(["setup", "commit", "read"]);
  expect(warnings).toEqual([
    expect.stringContaining("indexes may be missing, because it was refused: may not create"),
  ]);
});
