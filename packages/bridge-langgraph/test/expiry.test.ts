import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test, vi } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, listedIds, putValues, threadIds, valuesOf } from "./checkpoints.ts";

const LOGS = "langgraph:log:t:";

test("checkpoints expire as a whole, that long after the last write to their namespace", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const stores = createMemoryStores({ ttlMs: 400 });
    const saver = new ScrollbackSaver({ stores });
    let config = configOf();
    const fixed = "f".repeat(500);
    for (let n = 1; n <= 6; n++) {
      config = await putValues(saver, config, `${n}`, { n, fixed }, { n, fixed: 1 });
      vi.advanceTimersByTime(100);
    }
    expect(await valuesOf(new ScrollbackSaver({ stores }), configOf())).toEqual({ n: 6, fixed });
    expect(await listedIds(new ScrollbackSaver({ stores }).list({}))).toHaveLength(6);
    vi.advanceTimersByTime(300);
    expect(await saver.getTuple(configOf())).toBeUndefined();
    expect(await listedIds(new ScrollbackSaver({ stores }).list({}))).toEqual([]);
    vi.advanceTimersByTime(400);
    expect(await threadIds(stores)).toEqual([]);
    // The thread begins again, also in the process that has cached it.
    await putValues(saver, config, "7", { n: 7 });
    expect(await listedIds(new ScrollbackSaver({ stores }).list({}))).toEqual(["7"]);
  } finally {
    vi.useRealTimers();
  }
});

test("a registration outlives its logs at any distance of writes, so that a deletion finds them", async () => {
  const ttlMs = 10_000;
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    for (const distances of [
      [1_000],
      [4_900],
      [9_900],
      [4_900, 9_900],
      [100, 4_900, 9_900],
      [5_000, 9_900],
    ]) {
      const driver = new MemoryDriver();
      const saver = () => new ScrollbackSaver({ stores: createStores(driver, { ttlMs }) });
      let config = configOf();
      for (let n = 10; n < 20; n++) {
        config = await putValues(saver(), config, `${n}`, { n });
        vi.advanceTimersByTime(distances[n % distances.length] ?? 0);
        expect(await listedIds(saver().list({})), `${distances}, ${n}`).toHaveLength(n - 9);
        expect(await threadIds(createStores(driver))).toContain("langgraph:thread:t");
      }
      await saver().deleteThread("t");
      expect(await threadIds(createStores(driver))).toEqual([]);
    }
  } finally {
    vi.useRealTimers();
  }
});

test("a pruned thread expires that long after the prune, and a deletion finds it until then", async () => {
  const ttlMs = 10_000;
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    for (const isDeleted of [true, false]) {
      const driver = new MemoryDriver();
      const saver = () => new ScrollbackSaver({ stores: createStores(driver, { ttlMs }) });
      let config = configOf();
      for (const n of [1, 2, 3, 4]) config = await putValues(saver(), config, `${n}`, { n });
      for (const keep of [3, 2, 1]) {
        vi.advanceTimersByTime(ttlMs - 100);
        expect(await saver().prune({ threadId: "t", keep })).toBe(1);
      }
      vi.advanceTimersByTime(ttlMs - 100);
      expect(await valuesOf(saver(), configOf())).toEqual({ n: 4 });
      expect(await listedIds(saver().list({}))).toEqual(["4"]);
      if (isDeleted) await saver().deleteThread("t");
      else vi.advanceTimersByTime(2 * ttlMs);
      expect(await threadIds(createStores(driver)), `${isDeleted}`).toEqual([]);
    }
  } finally {
    vi.useRealTimers();
  }
});

test("a checkpoint that is written shortly before a renewal does not outlive the registration of its thread", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    const stores = createStores(new MemoryDriver(), { ttlMs: 10_000 });
    const saver = new ScrollbackSaver({ stores });
    let config = await putValues(saver, configOf(), "10", {});
    for (const ms of [7_000, 5_000]) {
      vi.advanceTimersByTime(ms);
      config = await putValues(saver, config, `${ms}`, {});
    }
    vi.advanceTimersByTime(8_600);
    expect(await saver.getTuple(configOf())).toBeDefined();
    await saver.deleteThread(configOf().configurable?.thread_id);
    expect(await saver.getTuple(configOf())).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test("a renewal costs two requests, once in three quarters of ttlMs, and none without an expiry", async () => {
  const requests = async (ttlMs: number | undefined) => {
    const watched = new WatchedDriver(new MemoryDriver());
    const stores = createStores(watched, ttlMs === undefined ? {} : { ttlMs });
    const saver = new ScrollbackSaver({ stores });
    let config = await putValues(saver, configOf(), "10", {});
    const counts: number[] = [];
    for (let n = 11; n < 19; n++) {
      watched.reset();
      vi.advanceTimersByTime(2_000);
      config = await putValues(saver, config, `${n}`, { n });
      counts.push(watched.reads.length + watched.commits.length);
    }
    return counts;
  };
  vi.useFakeTimers({ toFake: ["Date"] });
  try {
    expect(await requests(undefined)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);
    expect(await requests(10_000)).toEqual([1, 1, 1, 3, 1, 1, 1, 3]);
  } finally {
    vi.useRealTimers();
  }
});

/** The `ttlMs` of services that write to one thread, one after the other, each to its namespace. */
const services: Readonly<
  Record<string, readonly (readonly [ttlMs: number | undefined, namespace: string])[]>
> = {
  "a time that was raised": [
    [1_000, ""],
    [1_000_000, ""],
  ],
  "a time that was removed": [
    [1_000, ""],
    [undefined, ""],
  ],
  "services with different times": [
    [1_000_000, ""],
    [1_000, "child"],
    [1_000, ""],
    [1_000_000, "child"],
    [1_000, ""],
  ],
  "services with and without a time": [
    [undefined, ""],
    [1_000, "child"],
    [1_000, "other"],
  ],
};

test.each(Object.entries(services))(
  "with %s, a list, a prune and a deletion find what is stored",
  async (_, all) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    try {
      for (const passed of [100, 900, 5_000, 900_000, 1_900_000, 3_000_000]) {
        const driver = new MemoryDriver();
        const connect = (ttlMs?: number) =>
          new ScrollbackSaver({ stores: createStores(driver, ttlMs === undefined ? {} : { ttlMs }) });
        for (const [n, [ttlMs, namespace]] of all.entries()) {
          for (const id of [`1${n}`, `2${n}`])
            await putValues(connect(ttlMs), configOf("t", undefined, namespace), id, { n });
          vi.advanceTimersByTime(100);
        }
        vi.advanceTimersByTime(passed);
        const stored = await threadIds(createStores(driver));
        const logs = stored.filter((id) => id.startsWith(LOGS));
        const found = await listed(connect().list({}));
        expect(found.length >= 2 * logs.length).toBe(true);
        if (logs.length > 0) expect(await connect().prune({ keep: 1 })).toBe(found.length - logs.length);
        await connect(all.at(-1)?.[0]).deleteThread("t");
        expect(await threadIds(createStores(driver)), `after ${passed}`).toEqual([]);
      }
    } finally {
      vi.useRealTimers();
    }
  },
);
