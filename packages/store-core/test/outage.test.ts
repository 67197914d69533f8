import { expect, test } from "vitest";
import { systemClock } from "../src/clock.ts";
import {
  type CommitOutcome,
  createStores,
  type Driver,
  type ErrorClassification,
  MemoryDriver,
} from "../src/driver.ts";

/** A memory driver that first calls `fail` with the number of calls so far, which decides whether the call throws. */
function failing(fail: (calls: number) => ErrorClassification | undefined) {
  const memory = new MemoryDriver();
  const state = { calls: 0 };
  const raw = new Error("raw, with a secret: hunter2");
  let known: ErrorClassification | undefined;
  const pass = async <T>(run: () => Promise<T>): Promise<T> => {
    known = fail(++state.calls);
    if (known) throw raw;
    return await run();
  };
  const driver: Driver = {
    capabilities: memory.capabilities,
    commit: (request) => pass(() => memory.commit(request)),
    read: (request) => pass(() => memory.read(request)),
    delete: (request) => pass(() => memory.delete(request)),
    list: (request) => pass(() => memory.list(request)),
    close: () => memory.close(),
    classifyError: () => known,
  };
  return { driver, state, raw };
}

const retryable: ErrorClassification = { code: "UNAVAILABLE", message: "away", retryable: true };
const permanent: ErrorClassification = { code: "UNAVAILABLE", message: "refused", retryable: false };
const hello = { role: "user", content: "hello" } as const;

test("C13 calls during a short outage succeed after it, writes under one operation id", async () => {
  const ids: string[] = [];
  const { driver, state } = failing((calls) => (calls < 4 ? retryable : undefined));
  const { commit } = driver;
  driver.commit = (request) => {
    ids.push(request.operationId);
    return commit(request);
  };
  const store = createStores(driver).open();
  await store.addMessages([hello]);
  expect(state.calls).toBe(4);
  expect(new Set(ids).size).toBe(1);
  expect(await store.listMessages()).toEqual([hello]);
});

test("C13 a long outage fails with UNAVAILABLE after about 5 s, with the raw error as cause", async () => {
  const { driver, raw } = failing(() => retryable);
  let now = 0;
  const clock = {
    ...systemClock,
    wall: () => now,
    monotonic: () => now,
    async sleep(ms: number) {
      now += ms;
    },
  };
  const error = await createStores(driver, {}, { clock })
    .open()
    .listMessages()
    .catch((error) => error);
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, message: "away", cause: raw });
  expect(error.message).not.toContain("hunter2");
  expect(now).toBeGreaterThanOrEqual(5_000);
  expect(now).toBeLessThan(7_000);
});

test("C13 a call with a permanent error is tried once", async () => {
  const { driver, state } = failing(() => permanent);
  await expect(createStores(driver).open().addMessages([hello])).rejects.toMatchObject({ retryable: false });
  expect(state.calls).toBe(1);
});

test("C13 an unknown error fails with UNAVAILABLE and is tried once", async () => {
  const { driver, state, raw } = failing(() => permanent);
  driver.classifyError = () => undefined;
  await expect(createStores(driver).open().read()).rejects.toMatchObject({ code: "UNAVAILABLE", cause: raw });
  expect(state.calls).toBe(1);
});

test("C14 setup during a short outage succeeds after it, and sends a request if there is nothing to set up", async () => {
  const { driver, state } = failing((calls) => (calls < 4 ? retryable : undefined));
  await createStores(driver).setup();
  expect(state.calls).toBe(4);
});

test("C14 setup fails at once if the backend refuses, and writes nothing otherwise", async () => {
  const refusing = failing(() => permanent);
  await expect(createStores(refusing.driver).setup()).rejects.toMatchObject(permanent);
  expect(refusing.state.calls).toBe(1);
  const { driver } = failing(() => undefined);
  const outcomes: CommitOutcome[] = [];
  const { commit } = driver;
  driver.commit = async (request) => {
    const outcome = await commit(request);
    outcomes.push(outcome);
    return outcome;
  };
  await createStores(driver).setup();
  expect(outcomes).toEqual([{ outcome: "revision-conflict", revision: null }]);
});

test("C14 a call in progress when the factory closes fails with CLOSED", async () => {
  const { driver } = failing(() => retryable);
  const stores = createStores(driver);
  const call = stores.open().listMessages();
  await stores.close();
  await expect(call).rejects.toMatchObject({ code: "CLOSED" });
});

test("C15 an abort ends the wait between two attempts", async () => {
  const { driver } = failing(() => retryable);
  const abort = new AbortController();
  const clock = {
    ...systemClock,
    wall: () => 0,
    monotonic: () => 0,
    sleep: () => new Promise<void>(() => setImmediate(() => abort.abort())),
  };
  const call = createStores(driver, {}, { clock }).open().listMessages({ signal: abort.signal });
  await expect(call).rejects.toMatchObject({ code: "ABORTED" });
});

test("a driver that sends each request once is asked once, also after an error that is worth a retry", async () => {
  const { driver, state, raw } = failing(() => retryable);
  const stores = createStores({ ...driver, sendsOnce: true });
  const store = stores.open();
  const { signal } = new AbortController();
  for (const call of [
    () => store.addMessages([hello]),
    () => store.addMessages([hello], { signal }),
    () => store.listMessages(),
    () => store.clear(),
    () => stores.deleteThread(store.threadId),
    () => stores.listThreads(),
  ]) {
    state.calls = 0;
    await expect(call()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true, cause: raw });
    expect(state.calls).toBe(1);
  }
});
