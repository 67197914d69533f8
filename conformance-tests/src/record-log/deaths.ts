import { randomBytes } from "node:crypto";
import { createStores, RecordLogDriver, type StoreFactory, type StoreOptions } from "@scrollback/store-core";
import { expect } from "vitest";
import { textsIn as textsOf, user } from "../messages.ts";
import { type Gate, GatedLog, type Verb } from "./gated-log.ts";
import type { DeclareLogTest, RecordLogHarness } from "./harness.ts";

const storesOn = ({ connect }: RecordLogHarness, options: StoreOptions = {}) =>
  createStores(new RecordLogDriver(connect()), options);

const textsIn = (stores: StoreFactory, threadId: string) => textsOf(stores.open(threadId));

/** The texts at rest in streams. */
async function textsAtRest({ connect }: RecordLogHarness, streams: Iterable<string>): Promise<string> {
  const log = connect();
  const found: string[] = [];
  for (const stream of streams) {
    const rows = await log.read(stream, Number.POSITIVE_INFINITY, 1_000_000, false);
    found.push(...rows.flatMap(({ texts }) => texts));
  }
  await log.close();
  return found.join("\n");
}

/** Stores of a process that dies before the first request that `isDeadly`: that and all later ones never leave. */
function dyingStores(
  harness: RecordLogHarness,
  isDeadly: (verb: Verb, stream: string) => boolean,
  options: StoreOptions = {},
): { stores: StoreFactory; dead: Promise<void> } {
  const { promise: dead, resolve } = Promise.withResolvers<void>();
  let [underWay, isDying] = [0, false];
  const log = new GatedLog(harness.connect(), {
    async before(verb, stream) {
      isDying ||= isDeadly(verb, stream);
      if (isDying) {
        if (underWay === 0) resolve();
        await new Promise<never>(() => {});
      }
      underWay += 1;
    },
    // What had left before is done.
    after() {
      underWay -= 1;
      if (isDying && underWay === 0) resolve();
    },
  });
  return { stores: createStores(new RecordLogDriver(log), options), dead };
}

/** A process that dies once so many of its requests have left. */
function after(requests: number): () => boolean {
  let sent = 0;
  return () => sent++ >= requests;
}

/** Text that cannot be compressed and takes up so much of a row. */
const noise = (bytes: number) => randomBytes(Math.ceil(bytes / 2)).toString("hex");

/** Past this a row may hold whatever a commit has. */
const LARGEST_ROW = 32 * 1024 ** 2;

async function rowSizeOf({ connect }: RecordLogHarness): Promise<number> {
  const log = connect();
  await log.close();
  return log.capabilities.maxRowBytes;
}

/** More than most rows hold: one text that is cut in two, and another. */
async function largeTexts(harness: RecordLogHarness): Promise<string[]> {
  const room = Math.min(await rowSizeOf(harness), 8 * 1024 ** 2);
  return [noise(1.2 * room), noise(0.4 * room)];
}

const prepared = ["0", "1", "2"];

interface DeadlyChange {
  make(stores: StoreFactory, threadId: string, large: readonly string[]): Promise<unknown>;
  /** The thread's texts once it is made. */
  outcome(large: readonly string[]): readonly string[];
}

const changes: Readonly<Record<string, DeadlyChange>> = {
  "a commit in parts": {
    make: (stores, threadId, large) => stores.open(threadId).addMessages(large.map(user)),
    outcome: (large) => [...prepared, ...large],
  },
  "a clear": {
    make: (stores, threadId) => stores.open(threadId).clear(),
    outcome: () => [],
  },
  "a replacement in parts": {
    make: (stores, threadId, large) => stores.open(threadId).replaceMessages(large.map(user)),
    outcome: (large) => large,
  },
};

/** What a client leaves that dies, and what one does that comes late. */
export function declareDeaths(test: DeclareLogTest): void {
  for (const [what, { make, outcome }] of Object.entries(changes)) {
    test(`a client that dies between any two requests of ${what} leaves the thread as before or after`, async (harness) => {
      const large = await largeTexts(harness);
      await using others = storesOn(harness);
      for (let survived = 0; ; survived++) {
        const threadId = crypto.randomUUID();
        await others.open(threadId).addMessages(prepared.map(user));
        const { stores: dying, dead } = dyingStores(harness, after(survived));
        const isDone = await Promise.race([
          make(dying, threadId, large).then(() => true),
          dead.then(() => false),
        ]);
        await dying.close();
        const texts = await textsIn(others, threadId);
        const isAfter = JSON.stringify(texts) === JSON.stringify(outcome(large));
        if (!isAfter) expect(texts).toEqual(prepared);
        if (isDone) expect(isAfter).toBe(true);
        await others.open(threadId).addMessages([user("next")]);
        expect(await textsIn(others, threadId)).toEqual([...texts, "next"]);
        if (isDone) return expect(survived, "requests").toBeGreaterThan(1);
      }
    });
  }

  test("a client that dies while it makes room leaves what later commits blank", async (harness) => {
    const options = { maxMessages: 3, trimming: "exact" } as const;
    await using others = storesOn(harness);
    await using trimming = storesOn(harness, options);
    for (let survived = 0; survived < 4; survived++) {
      const threadId = crypto.randomUUID();
      const store = others.open(threadId);
      for (let commit = 0; commit < 31; commit++) await store.addMessages([user(`secret ${commit}`)]);
      const { stores: dying, dead } = dyingStores(harness, after(survived), options);
      await Promise.race([dying.open(threadId).addMessages([user("32")]), dead]);
      await dying.close();
      expect([31, 3]).toContain((await textsIn(others, threadId)).length);
      const later = trimming.open(threadId);
      for (let commit = 0; commit < 64; commit++) await later.addMessages([user(`later ${commit}`)]);
      expect(await textsIn(others, threadId)).toEqual(["later 61", "later 62", "later 63"]);
      expect(await textsAtRest(harness, [`t${threadId}`])).not.toContain("secret");
    }
  });

  test("a client that dies before the commit of its parts leaves parts that later commits collect", async (harness, skip) => {
    if ((await rowSizeOf(harness)) > LARGEST_ROW) skip("no row is too small for a commit (maxRowBytes)");
    const large = await largeTexts(harness);
    await using others = storesOn(harness);
    const threadId = crypto.randomUUID();
    await others.open(threadId).addMessages(prepared.map(user));
    const parts = new Set<string>();
    const { stores: dying, dead } = dyingStores(harness, (verb, stream) => {
      const isThread = stream === `t${threadId}`;
      if (verb === "insert" && !isThread) parts.add(stream);
      return verb === "insert" && isThread && parts.size > 0;
    });
    const lost = dying.open(threadId).addMessages(large.map(user));
    lost.catch(() => undefined);
    await dead;
    await dying.close();
    expect((await textsAtRest(harness, parts)).length).toBeGreaterThan(large.join("").length);
    for (let commit = 0; commit < 64 + 32; commit++) await others.open(threadId).addMessages([user("later")]);
    expect((await textsAtRest(harness, parts)).trim()).toBe("");
    expect(await textsIn(others, threadId)).toHaveLength(3 + 96);
  });

  test("what is blank goes in time, and a writer that was held up all the while loses and hides nothing", async (harness) => {
    const DAY = 24 * 60 * 60 * 1_000;
    const threadId = crypto.randomUUID();
    const rows = async () => {
      const log = harness.connect();
      const found = await log.read(`t${threadId}`, Number.POSITIVE_INFINITY, 10_000, false);
      await log.close();
      return found;
    };
    await using others = storesOn(harness);
    // The drivers live in the past, so that what they let go tomorrow is over today.
    let time = Date.now() - 40 * DAY;
    const clock = { wall: () => time, monotonic: () => time };
    const gate: Gate = { before: async () => undefined };
    const options = { maxMessages: 3, trimming: "exact" } as const;
    const slowLog = new GatedLog(harness.connect(), { before: (...request) => gate.before(...request) });
    await using slowStores = createStores(new RecordLogDriver(slowLog, clock), options);
    await using busyStores = createStores(new RecordLogDriver(harness.connect(), clock), options);
    const [busy, slow] = [busyStores.open(threadId), slowStores.open(threadId)];

    for (let commit = 1; commit <= 5; commit++) await busy.addMessages([user(`early ${commit}`)]);
    await slow.addMessages([user("slow 1")]);
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const { promise: isHeld, resolve: hold } = Promise.withResolvers<void>();
    gate.before = async (verb) => {
      if (verb !== "insert") return;
      gate.before = async () => undefined;
      hold();
      await held;
    };
    const late = slow.addMessages([user("slow 2")]);
    await isHeld;

    // The slow one is about to insert number 7.
    for (let commit = 1; commit <= 160; commit++) await busy.addMessages([user(`busy ${commit}`)]);
    await harness.sweep(`t${threadId}`);
    const kept = (await rows()).map(({ number }) => number);
    expect(kept).not.toContain(7);
    expect(kept.length).toBeLessThanOrEqual(64 + 2 * 32);
    expect(kept.filter((number) => number > 166 - 64)).toHaveLength(64);

    time += DAY;
    release();
    await late;
    const expected = ["busy 159", "busy 160", "slow 2"];
    for (const stores of [busyStores, others]) expect(await textsIn(stores, threadId)).toEqual(expected);
    // It did insert number 7, saw that it was too late, and took back what stood there.
    const [taken] = (await rows()).filter(({ number }) => number === 7);
    expect(taken?.texts.join("")).toBe("");
  });
}
