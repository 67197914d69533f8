import { afterEach, describe, expect, test, vi } from "vitest";
import { Random } from "../../../conformance-tests/src/observed/random.ts";
import { runSimulation } from "../src/simulator/index.ts";
import { createText, nameOf, type Operation } from "../src/simulator/operation.ts";
import { apply, type ThreadState } from "../src/simulator/reference.ts";
import { Scheduler } from "../src/simulator/scheduler.ts";
import { describeFailedRun, shrink } from "../src/simulator/shrink.ts";
import type { StoredRow } from "../src/simulator/simulated-call.ts";
import type { SimulationOptions } from "../src/simulator/simulation.ts";
import { StoredRows } from "../src/simulator/stored-rows.ts";
import { brokenDriver } from "./simulator-broken-driver.ts";

describe("the scheduler", () => {
  test("runs events by time, and events of the same time in the order they were added", async () => {
    const scheduler = new Scheduler(100, false);
    const random = new Random("times");
    const given = Array.from({ length: 500 }, (_, index) => ({ time: 100 + random.below(50), index }));
    const seen: typeof given = [];
    for (const event of given) scheduler.at(event.time, () => seen.push(event));
    await scheduler.run();
    expect(seen).toEqual([...given].sort((a, b) => a.time - b.time || a.index - b.index));
    expect(scheduler.now).toBe(Math.max(...given.map(({ time }) => time)));
  });

  test("runs the code resumed by an event up to its next wait before the next event", async () => {
    const scheduler = new Scheduler(0, false);
    const seen: string[] = [];
    const work = async (started: Promise<void>) => {
      await started;
      for (let turn = 0; turn < 20; turn++) await null;
      seen.push("work");
    };
    await new Promise<void>((done) => {
      void work(
        new Promise((resolve) => {
          scheduler.at(1, () => {
            resolve();
            scheduler.settled();
          });
        }),
      );
      scheduler.at(1, () => seen.push("next event"));
      done(scheduler.run());
    });
    expect(seen).toEqual(["work", "next event"]);
  });

  test("ends with the first failure", async () => {
    const scheduler = new Scheduler(0, false);
    scheduler.at(1, () => scheduler.fail(new Error("first")));
    scheduler.at(2, () => scheduler.fail(new Error("second")));
    await expect(scheduler.run()).rejects.toThrow("first");
  });
});

describe("the rows of a stream", () => {
  const stored = (number: number, expiresAt?: number): StoredRow => {
    const row = { number, head: "{}", texts: ["a", "b", "c"], expiresAt };
    return {
      ...{ number, row, heads: { ...row, texts: [] }, head: undefined, origin: undefined, insertedAt: 0 },
      ...{ isLinked: true, isFreed: false, isReleased: false, isExtendedLate: false, isDoubled: false },
    };
  };

  test("are found by range and from the end, inserted in any order", () => {
    const rows = new StoredRows();
    for (const number of [5, 1, 9, 3, 7]) rows.insert(stored(number));
    rows.delete(7);
    expect(rows.below(Number.POSITIVE_INFINITY, 2).map(({ number }) => number)).toEqual([9, 5]);
    expect(rows.below(9, 10).map(({ number }) => number)).toEqual([5, 3, 1]);
    expect(rows.numbersWithin(3, 9)).toEqual([3, 5]);
    expect(rows.highest).toBe(9);
  });

  test("are amended as specified", () => {
    const rows = new StoredRows();
    rows.insert(stored(1, 100));
    rows.insert(stored(2));
    const texts = (number: number) => rows.get(number)?.row.texts;
    const expiry = (number: number) => rows.get(number)?.row.expiresAt;
    const amend = (number: number, change: object) =>
      rows.amend(number, { from: 1, to: 3, ...change }, false);
    amend(1, { blank: { from: 1, to: 2 } });
    expect(texts(1)).toEqual(["a", "", "c"]);
    amend(1, { blank: "all" });
    expect(texts(1)).toEqual(["", "", ""]);
    amend(1, { extend: { to: 300, atLeast: 101 } });
    expect(expiry(1)).toBe(100);
    amend(1, { extend: { to: 300, atLeast: 100 } });
    expect(expiry(1)).toBe(300);
    amend(1, { extend: { to: 200, atLeast: 100 } });
    expect(expiry(1)).toBe(300);
    amend(2, { extend: { to: 200, atLeast: 0 } });
    expect(expiry(2)).toBeUndefined();
    amend(1, { extend: { to: null, atLeast: 100 } });
    expect(expiry(1)).toBeUndefined();
    amend(1, { expiresAt: 50 });
    expect(expiry(1)).toBe(50);
  });
});

describe("the reference", () => {
  const operation = (change: Partial<Operation>): Operation => ({
    ...{ id: "o", digest: "d", threadId: "t", drop: 0, append: [], metadata: undefined },
    ...{ settings: { maxMessages: undefined, trimming: "turns", ttlMs: undefined } },
    ...{ expectedRevision: undefined, newIncarnation: "e", hasOwnId: false, isSent: false, commits: [] },
    ...change,
  });
  const names = ({ pinned, messages, metadata }: ThreadState) =>
    [...pinned, ...messages, metadata].map((placed) => placed?.text.name);
  const commit = (before: ThreadState | undefined, change: Partial<Operation>, row: number) =>
    apply(before, operation(change), `e.${row}`, (text, index) => ({ text, spots: [{ row, index }] }));

  test("drops, appends, trims and sets metadata, and reports removed content", () => {
    const text = (name: string, kind: "s" | "u" | "m" = "u") => createText(name, kind);
    const first = commit(
      undefined,
      { append: [text("a", "s"), text("b"), text("c")], metadata: text("m", "m") },
      1,
    );
    expect(names(first.state)).toEqual(["a", "b", "c", "m"]);
    const settings = { maxMessages: 2, trimming: "turns", ttlMs: undefined } as const;
    const second = commit(first.state, { drop: 1, append: [text("d")], settings }, 2);
    expect(names(second.state)).toEqual(["a", "d", "m"]);
    expect(second.dead.map(({ name }) => name)).toEqual(["b", "c"]);
    const third = commit(second.state, { drop: "all", metadata: null }, 3);
    expect(names(third.state)).toEqual([undefined]);
    expect(third.dead.map(({ name }) => name)).toEqual(["d", "a", "m"]);
    expect(third.state.bounds).toEqual({ pinned: null, compaction: null, first: 4, next: 4 });
  });

  test("recognizes a text by any part of it", () => {
    const { record } = createText("o1:0", "u", 500);
    expect(record.length).toBeGreaterThan(490);
    expect(nameOf(record.slice(123, 200))).toBe("o1:0");
    expect(nameOf("#")).toBeUndefined();
  });
});

describe("a simulation", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  const profiles = ["steady", "wild", "slow", "large", "silences", "busy", "hostile"] as const;

  test.each(profiles)("of the profile %s replays exactly", async (profile) => {
    const options: SimulationOptions = { seed: 5, profile, acts: 150 };
    const [once, again] = [await runSimulation(options), await runSimulation({ ...options, isTraced: true })];
    expect(once.failure).toBeUndefined();
    expect(again).toMatchObject({ hash: once.hash, steps: once.steps });
    expect((await runSimulation({ ...options, seed: 6 })).hash).not.toBe(once.hash);
  });

  test("with fewer acts is a prefix of the same run", async () => {
    const traces = [];
    for (const acts of [20, 60]) {
      const { trace } = await runSimulation({ seed: 8, profile: "calm", acts, isTraced: true });
      traces.push(trace.filter((line) => line.includes(" call ")).map((line) => line.slice(0, 60)));
    }
    expect(traces[1]?.slice(0, 15)).toEqual(traces[0]?.slice(0, 15));
  });

  test("of a broken driver fails, shrinks and reports how to replay it", async () => {
    const failing = { seed: 1, profile: "steady", createDriver: brokenDriver } as const;
    const { failure } = await runSimulation(failing);
    expect(failure?.rule).toBe("exactly once");
    // Without a time limit, which a busy machine would reach.
    const smallest = await shrink(failing, "exactly once", Number.POSITIVE_INFINITY);
    expect(smallest.acts).toBeLessThan(100);
    expect(smallest.without).toContain("clock jumps");
    const result = await runSimulation({ ...smallest, isTraced: true });
    expect(result.failure?.rule).toBe("exactly once");
    const [, printed = ""] =
      /runSimulation\((\{.*),"createDriver":yours\}\) of @scrollback\/conformance/.exec(
        describeFailedRun(smallest, result),
      ) ?? [];
    const replayed = await runSimulation({ ...JSON.parse(`${printed}}`), createDriver: brokenDriver });
    expect(replayed).toMatchObject({ hash: result.hash, failure: { rule: "exactly once" } });
  });

  test("is shrunk for one minute by default, or for the given time", async () => {
    let now = 0;
    vi.spyOn(performance, "now").mockImplementation(() => (now += 40_000));
    const failing = { seed: 1, profile: "steady", createDriver: brokenDriver } as const;
    const unchanged = (await shrink(failing, "exactly once")).acts;
    expect((await shrink(failing, "exactly once", 1e9)).acts).toBeLessThan(unchanged ?? 0);
  });
});
