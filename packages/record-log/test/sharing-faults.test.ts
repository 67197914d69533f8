import { createStores } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { MemoryRecordLog, RecordLogDriver } from "../src/index.ts";
import { holdBack, type LogRequest, THREAD, user, WatchedLog } from "./scenes.ts";
import {
  appendOf,
  busyThread,
  idsIn,
  isInsert,
  isShared,
  nOf,
  processOn,
  rowSizes,
  whole,
} from "./sharing.ts";

test.each(["reply", "request"] as const)(
  "C4 if the %s of a shared row is lost, each commit takes effect once when it is repeated, here or elsewhere",
  async (lost) => {
    for (const isElsewhere of [false, true]) {
      const { driver, log, rows, before, release } = await busyThread();
      const ids = ["a", "b", "c", "d"];
      const waiting = ids.map((id) => driver.commit(appendOf(id)));
      const cut = async (request: LogRequest) => {
        if (isShared(request)) throw new Error("cut");
      };
      release();
      if (lost === "reply") log.after = cut;
      else log.before = cut;
      await before;
      const ended = await Promise.allSettled(waiting);
      expect(ended.map(({ status }) => status)).toEqual(Array(4).fill("rejected"));
      log.after = async () => undefined;
      log.before = async () => undefined;
      // Another commit of each id comes after those of others.
      const retrying = isElsewhere ? processOn(rows).driver : driver;
      for (let n = 0; n < 20; n++) await retrying.commit(appendOf(`other${n}`));
      const again = [];
      for (const id of ["c", "a", "d", "b"])
        again.push(await retrying.commit(appendOf(id, { isNewOperation: false })));
      expect(again.map(({ outcome }) => outcome)).toEqual(
        Array(4).fill(lost === "reply" ? "repeated" : "committed"),
      );
      if (lost === "reply") expect(again.map(nOf)).toEqual([5, 3, 6, 4]);
      const found = await idsIn(driver);
      expect(found.filter((id) => ids.includes(id)).sort()).toEqual(ids);
    }
  },
);

test("C4 a commit of a shared row is found after any number of other commits, if its process has the attempt", async () => {
  const { driver, log, rows, before, release } = await busyThread();
  const waiting = ["a", "b", "c"].map((id) => driver.commit(appendOf(id)));
  log.after = async (request) => {
    if (isShared(request)) throw new Error("cut");
  };
  release();
  await before;
  await Promise.allSettled(waiting);
  log.after = async () => undefined;
  const other = processOn(rows).driver;
  for (let n = 0; n < 100; n++) await other.commit(appendOf(`other${n}`));
  for (const [index, id] of ["a", "b", "c"].entries()) {
    const outcome = await driver.commit(appendOf(id, { isNewOperation: false }));
    expect(outcome).toMatchObject({ outcome: "repeated" });
    expect(nOf(outcome)).toBe(3 + index);
    const conflict = await other.commit(appendOf(id, { isNewOperation: false, digest: "x" }));
    // The others remember the newest 64.
    expect(conflict.outcome).toBe("committed");
  }
});

test("C4 the newest 64 operations are remembered, whichever rows they share", async () => {
  for (const size of [2, 5, 32]) {
    const rows = new MemoryRecordLog();
    const { driver } = processOn(rows);
    for (let n = 0; n < 130; ) {
      const count = Math.min(130 - n, size + 1);
      await Promise.all(
        Array.from({ length: count }, (_, index) => driver.commit(appendOf(`m${n + index}`))),
      );
      n += count;
    }
    expect(Math.max(...rowSizes(rows))).toBe(size);
    for (let n = 129; n >= 130 - 64; n--) {
      const again = await processOn(rows).driver.commit(appendOf(`m${n}`, { isNewOperation: false }));
      expect(again).toMatchObject({ outcome: "repeated" });
      expect(nOf(again)).toBe(n + 1);
      const changed = await driver.commit(appendOf(`m${n}`, { isNewOperation: false, digest: "x" }));
      expect(changed.outcome).toBe("operation-conflict");
    }
  }
});

test.each([
  ["returns", true],
  ["does not return", false],
] as const)(
  "a shared row that loses a race is made again as one, if the log %s the winner",
  async (_, returnsWinner) => {
    const { driver, log, rows, before, release } = await busyThread();
    const ids = ["a", "b", "c"];
    const waiting = ids.map((id) => driver.commit(appendOf(id)));
    const other = processOn(rows).driver;
    release();
    log.before = async (request) => {
      if (!isShared(request)) return;
      log.before = async () => undefined;
      await other.commit(appendOf("winner"));
      if (returnsWinner) return;
      log.answer = async () => {
        log.answer = undefined;
        return false;
      };
    };
    const outcomes = await Promise.all([before, ...waiting]);
    expect(outcomes.map(nOf)).toEqual([2, 4, 5, 6]);
    expect(rowSizes(rows)).toEqual([0, 1, 1, 1, 3]);
    expect(await idsIn(driver)).toEqual(["first", "before", "winner", ...ids]);
  },
);

test("a shared row that is refused by itself is made once", async () => {
  const { driver, log, rows, before, release } = await busyThread();
  const waiting = ["a", "b", "c"].map((id) => driver.commit(appendOf(id)));
  log.after = async (request) => {
    if (!isShared(request)) return;
    log.answer = async () => {
      log.answer = undefined;
      return false;
    };
  };
  release();
  const outcomes = await Promise.all([before, ...waiting]);
  expect(outcomes.map(({ outcome }) => outcome)).toEqual(["committed", ...Array(3).fill("repeated")]);
  expect(outcomes.map(nOf)).toEqual([2, 3, 4, 5]);
  expect(rowSizes(rows)).toEqual([0, 1, 1, 3]);
});

test("C15 a caller that aborts while it waits is refused, and the others share a row without it", async () => {
  const { driver, rows, before, release } = await busyThread();
  const abort = new AbortController();
  const [a, b, c] = [
    driver.commit(appendOf("a")),
    driver.commit(appendOf("b", { signal: abort.signal })),
    driver.commit(appendOf("c")),
  ];
  abort.abort();
  release();
  await expect(b).rejects.toMatchObject({ code: "ABORTED" });
  expect((await Promise.all([before, a, c])).map(nOf)).toEqual([2, 3, 4]);
  expect(rowSizes(rows)).toEqual([0, 1, 1, 2]);
  expect(await idsIn(driver)).toEqual(["first", "before", "a", "c"]);
});

test("C15 a caller that aborts while its row is under way does not end the commits of others", async () => {
  const { driver, log, before, release } = await busyThread();
  const abort = new AbortController();
  const store = createStores(driver).open(THREAD);
  const aborted = store.addMessages([user("aborted")], { signal: abort.signal });
  const others = [driver.commit(appendOf("a")), driver.commit(appendOf("b"))];
  release();
  const held = holdBack(log, isInsert);
  await before;
  await held.isReached;
  abort.abort();
  await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
  held.release();
  await Promise.all(others);
  expect((await driver.read(whole)).count).toBe(5);
});

test("C15 a shared row whose callers all have aborted does not delay the next write", async () => {
  const { driver, log, rows, before, release } = await busyThread();
  const aborts = [new AbortController(), new AbortController()];
  const waiting = aborts.map(({ signal }, index) => driver.commit(appendOf(`a${index}`, { signal })));
  release();
  const held = holdBack(log, isInsert);
  await before;
  await held.isReached;
  const next = driver.commit(appendOf("next"));
  for (const abort of aborts) abort.abort();
  expect(nOf(await next)).toBe(3);
  // One of the callers repeats its call, although its first call is still under way.
  const repeated = await driver.commit(appendOf("a1", { isNewOperation: false }));
  held.release();
  await Promise.allSettled(waiting);
  expect(nOf(repeated)).toBe(4);
  await driver.commit(appendOf("last"));
  const found = await idsIn(driver);
  expect(found.filter((id) => id === "a1")).toHaveLength(1);
  expect(rowSizes(rows).every((size) => size <= 1)).toBe(true);
});

test.each([1, 2])(
  "C15 a row with the commits of %i callers that loses its number is not sent again if all of them have aborted",
  async (count) => {
    const { driver, log, rows, before, release } = await busyThread();
    const aborts = Array.from({ length: count }, () => new AbortController());
    const calls = aborts.map(({ signal }, index) => driver.commit(appendOf(`a${index}`, { signal })));
    const held = holdBack(log, isInsert);
    release();
    await before;
    await held.isReached;
    log.requests.length = 0;
    await processOn(rows).driver.commit(appendOf("winner"));
    for (const abort of aborts) abort.abort();
    held.release();
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "ABORTED" });
    expect(log.requests.filter(isInsert)).toEqual([]);
    expect(await idsIn(driver)).toEqual(["first", "before", "winner"]);
    // Repeated calls take effect once.
    for (let index = 0; index < count; index++)
      await driver.commit(appendOf(`a${index}`, { isNewOperation: false }));
    expect((await idsIn(driver)).slice(3)).toEqual(aborts.map((_, index) => `a${index}`));
  },
);

test("C15 a row that loses its number is made again without the commits whose callers have aborted meanwhile", async () => {
  const { driver, log, rows, before, release } = await busyThread();
  const abort = new AbortController();
  const aborted = driver.commit(appendOf("aborted", { signal: abort.signal }));
  const others = [driver.commit(appendOf("a")), driver.commit(appendOf("b"))];
  const held = holdBack(log, isInsert);
  release();
  await before;
  await held.isReached;
  const other = processOn(rows).driver;
  await other.commit(appendOf("winner"));
  abort.abort();
  held.release();
  await expect(aborted).rejects.toMatchObject({ code: "ABORTED" });
  expect((await Promise.all(others)).map(nOf)).toEqual([4, 5]);
  expect(await idsIn(driver)).toEqual(["first", "before", "winner", "a", "b"]);
});

test("C4 a commit that was made after its caller aborted is found when the call is repeated after many others", async () => {
  const rows = new MemoryRecordLog();
  const { driver, log } = processOn(rows);
  await driver.commit(appendOf("first"));
  const abort = new AbortController();
  const held = holdBack(log, isInsert, "reply");
  const made = driver.commit(appendOf("a", { signal: abort.signal }));
  await held.isReached;
  abort.abort();
  held.release();
  await made;
  const other = processOn(rows).driver;
  for (let n = 0; n < 100; n++) await other.commit(appendOf(`other${n}`));
  await driver.commit(appendOf("next"));
  const repeated = await driver.commit(appendOf("a", { isNewOperation: false }));
  expect(repeated).toEqual({ outcome: "repeated", revision: (await made).revision });
  expect((await idsIn(driver)).filter((id) => id === "a")).toHaveLength(1);
});

test("C15 a deletion whose caller aborts while it reads is not sent, so it does not delete what is written meanwhile", async () => {
  const rows = new MemoryRecordLog();
  const { driver, log } = processOn(rows);
  await driver.commit(appendOf("first"));
  const abort = new AbortController();
  const held = holdBack(log, ({ verb }) => verb === "read");
  const request = { threadId: THREAD, operationId: "deletion", expectedRevision: undefined };
  const deletion = driver.delete({ ...request, signal: abort.signal });
  await held.isReached;
  log.requests.length = 0;
  abort.abort();
  await processOn(rows).driver.commit(appendOf("next"));
  held.release();
  await expect(deletion).rejects.toMatchObject({ code: "ABORTED" });
  expect(log.requests.filter(({ verb }) => verb !== "read")).toEqual([]);
  expect(await idsIn(driver)).toEqual(["first", "next"]);
});

test("C14 commits that wait when the driver is closed fail with CLOSED", async () => {
  const rows = new MemoryRecordLog();
  const log = new WatchedLog(rows);
  const stores = createStores(new RecordLogDriver(log));
  const store = stores.open(THREAD);
  await store.addMessages([user("first")]);
  const held = holdBack(log, isInsert);
  const writes = Array.from({ length: 5 }, (_, n) => store.addMessages([user(`${n}`)]));
  await held.isReached;
  const closing = stores.close();
  log.before = async () => {
    throw new Error("closed");
  };
  held.release();
  await closing;
  const ended = await Promise.allSettled(writes);
  for (const one of ended.slice(1))
    expect(one).toMatchObject({ status: "rejected", reason: { code: "CLOSED" } });
});
