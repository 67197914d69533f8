// Exceeds 300 lines because its tests share the processes that die or are delayed, and their clocks.
import { randomBytes } from "node:crypto";
import { setImmediate as later } from "node:timers/promises";
import { rejection, textsIn as textsOf, user } from "@scrollback/conformance/internal";
import type { StoreFactory, StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { expect } from "vitest";
import { type LogRow, RecordLogDriver } from "../index.ts";
import { type Gate, GatedLog, type Verb } from "./gated-log.ts";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";

const HOUR = 60 * 60 * 1_000;
const DAY = 24 * HOUR;

/** A clock that a test sets. */
class TestClock implements Clock {
  time = Date.now();
  wall = () => this.time;
  monotonic = () => this.time;
  sleep = () => later();
}

function storesOn({ connect }: RecordLogHarness, clock: Clock, options: StoreOptions = {}): StoreFactory {
  return createStores(new RecordLogDriver(connect(), { clock }), options);
}

const textsIn = (stores: StoreFactory, threadId: string) => textsOf(stores.open(threadId));

async function rowsOf({ connect }: RecordLogHarness, threadId: string): Promise<LogRow[]> {
  const log = connect();
  const rows = await log.read(threadId, Number.POSITIVE_INFINITY, 1_000_000, false);
  await log.close();
  return rows;
}

async function textsAtRest(harness: RecordLogHarness, threadId: string): Promise<string> {
  return (await rowsOf(harness, threadId)).flatMap(({ texts }) => texts).join("\n");
}

/**
 * Stores of a process that dies before the first request for which `isDeadly` returns true: that request and all later ones are
 * never sent.
 */
function dyingStores(
  harness: RecordLogHarness,
  clock: Clock,
  isDeadly: (verb: Verb) => boolean,
  options: StoreOptions = {},
): { stores: StoreFactory; dead: Promise<void> } {
  const { promise: dead, resolve } = Promise.withResolvers<void>();
  let [pending, isDying] = [0, false];
  const log = new GatedLog(harness.connect(), {
    async before(verb) {
      isDying ||= isDeadly(verb);
      if (isDying) {
        if (pending === 0) resolve();
        await new Promise<never>(() => {});
      }
      pending += 1;
    },
    // Requests that were sent before take effect.
    after() {
      pending -= 1;
      if (isDying && pending === 0) resolve();
    },
  });
  return { stores: createStores(new RecordLogDriver(log, { clock }), options), dead };
}

/** A process that dies after this number of requests, of one verb or of any. */
function after(requests: number, verb?: Verb): (sent: Verb) => boolean {
  let sent = 0;
  return (next) => (verb === undefined || next === verb) && sent++ >= requests;
}

/** Tests that need fragments are skipped for larger rows. */
const noise = (bytes: number) => randomBytes(Math.ceil(bytes / 2)).toString("hex");

/** A test that needs fragments ignores rows larger than this. */
const LARGEST_ROW = 8 * 1024 ** 2;

async function rowSizeOf({ connect }: RecordLogHarness): Promise<number> {
  const log = connect();
  await log.close();
  return log.capabilities.maxRowBytes;
}

/** More text than most rows hold: one text that is cut in two, and another one. */
async function largeTexts(harness: RecordLogHarness): Promise<string[]> {
  const room = Math.min(await rowSizeOf(harness), LARGEST_ROW);
  return [noise(1.2 * room), noise(0.4 * room)];
}

const prepared = ["0", "1", "2"];

interface DeadlyChange {
  /** The ttl of the thread before the change. Default: none. */
  readonly ttlMs?: number;
  /** The thread's texts before the change. Default: `prepared`. */
  readonly before?: readonly string[];
  make(stores: StoreFactory, threadId: string, large: readonly string[]): Promise<unknown>;
  /** The thread's texts after the change. */
  outcome(large: readonly string[]): readonly string[];
}

const add =
  (...texts: string[]): DeadlyChange["make"] =>
  (stores, threadId) =>
    stores.open(threadId).addMessages(texts.map(user));

const changes: Readonly<Record<string, DeadlyChange>> = {
  "the first commit to a thread": { before: [], make: add("a"), outcome: () => ["a"] },
  "a commit in fragments": {
    make: (stores, threadId, large) => stores.open(threadId).addMessages(large.map(user)),
    outcome: (large) => [...prepared, ...large],
  },
  "a clear": {
    make: (stores, threadId) => stores.open(threadId).clear(),
    outcome: () => [],
  },
  "a replacement in fragments": {
    make: (stores, threadId, large) => stores.open(threadId).replaceMessages(large.map(user)),
    outcome: (large) => large,
  },
  "a commit that keeps the thread for longer": {
    ttlMs: 10 * DAY,
    make: add("a"),
    outcome: () => [...prepared, "a"],
  },
  // Two hours pass after the preparation.
  "a commit to a thread that has expired": { ttlMs: HOUR, before: [], make: add("a"), outcome: () => ["a"] },
};

/** Tests with clients that die, and with writers that are delayed. */
export function declareDeaths(test: DeclareLogTest): void {
  for (const [what, { ttlMs, before = prepared, make, outcome }] of Object.entries(changes)) {
    test(`a client that dies between any two requests of ${what} leaves the thread as before or after`, async (harness) => {
      const large = await largeTexts(harness);
      const clock = new TestClock();
      await using others = storesOn(harness, clock);
      await using preparing = storesOn(harness, clock, ttlMs === undefined ? {} : { ttlMs });
      for (let survived = 0; ; survived++) {
        const threadId = crypto.randomUUID();
        if (before.length > 0 || ttlMs !== undefined) await add(...prepared)(preparing, threadId, large);
        clock.time += 2 * HOUR;
        expect(await textsIn(others, threadId)).toEqual(before);
        const { stores: dying, dead } = dyingStores(harness, clock, after(survived));
        const isDone = await Promise.race([
          make(dying, threadId, large).then(() => true),
          dead.then(() => false),
        ]);
        await dying.close();
        const texts = await textsIn(others, threadId);
        const isAfter = JSON.stringify(texts) === JSON.stringify(outcome(large));
        if (!isAfter) expect(texts).toEqual(before);
        if (isDone) expect(isAfter).toBe(true);
        await others.open(threadId).addMessages([user("next")]);
        expect(await textsIn(others, threadId)).toEqual([...texts, "next"]);
        expect(await textsIn(preparing, threadId)).toEqual([...texts, "next"]);
        if (isDone) return expect(survived, "requests").toBeGreaterThan(1);
      }
    });
  }

  test("a client that dies during a collection leaves texts that later commits blank", async (harness) => {
    const options = { maxMessages: 3, trimming: "exact" } as const;
    const clock = new TestClock();
    await using others = storesOn(harness, clock);
    await using trimming = storesOn(harness, clock, options);
    for (let survived = 0; survived < 4; survived++) {
      const threadId = crypto.randomUUID();
      const store = others.open(threadId);
      for (let commit = 0; commit < 31; commit++) await store.addMessages([user(`secret ${commit}`)]);
      const { stores: dying, dead } = dyingStores(harness, clock, after(survived), options);
      await Promise.race([dying.open(threadId).addMessages([user("32")]), dead]);
      await dying.close();
      expect([31, 3]).toContain((await textsIn(others, threadId)).length);
      const trimmed = trimming.open(threadId);
      for (let commit = 0; commit < 64; commit++) await trimmed.addMessages([user(`later ${commit}`)]);
      expect(await textsIn(others, threadId)).toEqual(["later 61", "later 62", "later 63"]);
      expect(await textsAtRest(harness, threadId)).not.toContain("secret");
    }
  });

  test("a client that dies before the commit of its fragments leaves fragments that later commits blank", async (harness, skip) => {
    if ((await rowSizeOf(harness)) > LARGEST_ROW) skip("maxRowBytes is above 8 MiB");
    const large = await largeTexts(harness);
    const clock = new TestClock();
    await using others = storesOn(harness, clock);
    const inserts = await insertsOf(harness, (stores, threadId) =>
      stores.open(threadId).addMessages(large.map(user)),
    );
    expect(inserts, "inserts of a root, fragments and the commit").toBeGreaterThan(3);
    const threadId = crypto.randomUUID();
    await others.open(threadId).addMessages(prepared.map(user));
    // The thread already has a root. Only the insert of the commit remains.
    const { stores: dying, dead } = dyingStores(harness, clock, after(inserts - 2, "insert"));
    const lost = dying.open(threadId).addMessages(large.map(user));
    lost.catch(() => undefined);
    await dead;
    await dying.close();
    expect((await textsAtRest(harness, threadId)).length).toBeGreaterThan(large.join("").length);
    for (let commit = 0; commit < 64 + 32; commit++) await others.open(threadId).addMessages([user("later")]);
    expect(await textsIn(others, threadId)).toHaveLength(3 + 96);
    expect((await textsAtRest(harness, threadId)).length).toBeLessThan(10_000);
  });

  test("dead rows are blanked, freed for 48 hours and deleted, and all others are kept", async (harness) => {
    const threadId = crypto.randomUUID();
    const clock = new TestClock();
    clock.time -= 40 * DAY;
    await using stores = storesOn(harness, clock, { maxMessages: 3, trimming: "exact" });
    const store = stores.open(threadId);
    for (let commit = 1; commit <= 160; commit++) await store.addMessages([user(`text ${commit}`)]);
    const rows = await rowsOf(harness, threadId);
    const freed = rows.filter(({ expiresAt }) => expiresAt !== undefined);
    expect(freed.length).toBeGreaterThanOrEqual(160 - 64 - 32);
    expect(freed.map(({ texts }) => texts.join("")).join("")).toBe("");
    for (const { expiresAt = 0 } of freed) {
      expect(expiresAt).toBeGreaterThanOrEqual(clock.time + 48 * HOUR);
      expect(expiresAt).toBeLessThanOrEqual(clock.time + 48 * HOUR + 1_000);
    }
    // The keys of the remembered operations are still needed.
    const newest = rows.slice(0, 64);
    expect(newest.filter(({ expiresAt }) => expiresAt !== undefined)).toEqual([]);

    clock.time = Date.now();
    await harness.sweep(threadId);
    const kept = (await rowsOf(harness, threadId)).map(({ number }) => number);
    const permanent = rows.filter(({ expiresAt }) => expiresAt === undefined).map(({ number }) => number);
    expect(kept).toEqual(permanent);
    expect(kept.length).toBeLessThanOrEqual(1 + 64 + 32);
    expect(await textsIn(stores, threadId)).toEqual(["text 158", "text 159", "text 160"]);
    await store.addMessages([user("text 161")]);
    expect(await textsIn(stores, threadId)).toEqual(["text 159", "text 160", "text 161"]);
  });

  test("writers whose clocks differ by 12 hours share a thread for weeks", async (harness) => {
    const threadId = crypto.randomUUID();
    const [slow, fast] = [new TestClock(), new TestClock()];
    fast.time += 12 * HOUR;
    const options = { maxMessages: 5, trimming: "exact", ttlMs: 2 * DAY } as const;
    await using slowStores = storesOn(harness, slow, options);
    await using fastStores = storesOn(harness, fast, options);
    const texts: string[] = [];
    for (let commit = 1; commit <= 140; commit++) {
      const writer = commit % 5 < 3 ? slowStores : fastStores;
      const text = `text ${commit}`;
      await writer.open(threadId).addMessages([user(text)]);
      texts.push(text);
      for (const stores of [slowStores, fastStores]) {
        expect(await textsIn(stores, threadId)).toEqual(texts.slice(-5));
      }
      slow.time += 4 * HOUR;
      fast.time += 4 * HOUR;
    }
  });

  test("a writer paused while its key is freed and deleted does not change the thread", async (harness) => {
    const { threadId, clock, busy, late, release } = await heldUpWriter(harness, {});
    for (let commit = 1; commit <= 160; commit++)
      await busy.open(threadId).addMessages([user(`busy ${commit}`)]);
    clock.time = Date.now();
    await harness.sweep(threadId);
    const before = await rowsOf(harness, threadId);
    release();
    // The row above its own was deleted too, and only that row could show whether the commit took place.
    const error = await rejection(late, "UNAVAILABLE");
    expect(error).toMatchObject({ retryable: false, message: expect.stringContaining("outcome is unknown") });
    const expected = ["busy 158", "busy 159", "busy 160"];
    await using others = storesOn(harness, clock);
    for (const stores of [busy, others]) expect(await textsIn(stores, threadId)).toEqual(expected);
    // Its row was inserted, and its text was removed again.
    const known = new Set(before.map(({ number }) => number));
    const added = (await rowsOf(harness, threadId)).filter(({ number }) => !known.has(number));
    expect(added.map(({ texts }) => texts.join(""))).toEqual([""]);
    await busy.open(threadId).addMessages([user("next")]);
    for (const stores of [busy, others]) expect((await textsIn(stores, threadId)).at(-1)).toBe("next");
    await busy.close();
  });

  test("a writer paused while its thread expires and is created again appends its message to the new one", async (harness) => {
    const { threadId, clock, busy, late, release } = await heldUpWriter(harness, { ttlMs: DAY });
    clock.time = Date.now();
    await harness.sweep(threadId);
    expect(await rowsOf(harness, threadId), "all rows have expired").toEqual([]);
    await busy.open(threadId).addMessages([user("new")]);
    release();
    await late;
    await using others = storesOn(harness, clock);
    for (const stores of [busy, others]) expect(await textsIn(stores, threadId)).toEqual(["new", "slow 2"]);
    const texts = (await rowsOf(harness, threadId)).flatMap((row) => row.texts);
    expect(texts.filter((text) => text.includes("slow 2"))).toHaveLength(1);
    await busy.close();
  });
}

/** The number of rows that a change inserts into an empty thread. */
async function insertsOf(
  harness: RecordLogHarness,
  change: (stores: StoreFactory, threadId: string) => Promise<unknown>,
): Promise<number> {
  let inserts = 0;
  const log = new GatedLog(harness.connect(), {
    async before(verb) {
      if (verb === "insert") inserts += 1;
    },
  });
  await using stores = createStores(new RecordLogDriver(log));
  await change(stores, crypto.randomUUID());
  return inserts;
}

/** A thread with a writer that was delayed 60 days ago, just before it inserted the row of a commit. */
async function heldUpWriter(
  harness: RecordLogHarness,
  options: StoreOptions,
): Promise<{
  readonly threadId: string;
  readonly clock: TestClock;
  /** The stores of the other writer. */
  readonly busy: StoreFactory;
  /** The delayed commit. */
  readonly late: Promise<unknown>;
  release(): void;
}> {
  const threadId = crypto.randomUUID();
  const clock = new TestClock();
  clock.time -= 60 * DAY;
  const settings = { maxMessages: 3, trimming: "exact", ...options } as const;
  const gate: Gate = { before: async () => undefined };
  const log = new GatedLog(harness.connect(), { before: (...request) => gate.before(...request) });
  const slow = createStores(new RecordLogDriver(log, { clock }), settings);
  const busy = storesOn(harness, clock, settings);
  for (let commit = 1; commit <= 5; commit++)
    await busy.open(threadId).addMessages([user(`early ${commit}`)]);
  await slow.open(threadId).addMessages([user("slow 1")]);
  const held = Promise.withResolvers<void>();
  const isHeld = Promise.withResolvers<void>();
  gate.before = async (verb) => {
    if (verb !== "insert") return;
    gate.before = async () => undefined;
    isHeld.resolve();
    await held.promise;
  };
  const late = slow.open(threadId).addMessages([user("slow 2")]);
  late.catch(() => undefined);
  void late.finally(() => slow.close()).catch(() => undefined);
  await isHeld.promise;
  return { threadId, clock, busy, late, release: held.resolve };
}
