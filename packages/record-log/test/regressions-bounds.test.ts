import type { MessageStore } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { type LogRow, MemoryRecordLog, RecordLogDriver } from "../src/index.ts";
import { fitsRow } from "../src/rows/fragments.ts";
import { addEach, contentsOf, DAY, type LogRequest, type Process, Scene, system, user } from "./scenes.ts";

// The remains of failed writes, the effects of damaged rows, and the cost of a commit.

const MAX_ROW_BYTES = 64 * 1024;

describe("a large write that fails", () => {
  const secret = "secret ".repeat(60_000);

  test.each([2, 3, 5])(
    "C6 leaves no text after clear when the reply to its insert %i is lost",
    async (lost) => {
      const scene = new Scene(MAX_ROW_BYTES);
      const [failing, other] = [scene.open(), scene.open()];
      await other.store.addMessages([user("secret first")]);
      failing.log.after = async ({ verb }) => {
        if (verb === "insert" && failing.log.count("insert") >= lost) throw new Error("the reply is lost");
      };
      await expect(failing.store.addMessages([user(secret)])).rejects.toMatchObject({ code: "UNAVAILABLE" });
      expect(scene.textsAtRest()).toContain("secret");
      await other.store.clear();
      expect(scene.textsAtRest()).not.toContain("secret");
      expect(await contentsOf(other.store)).toEqual([]);
    },
  );

  test("C12 leaves few bytes behind, even 1,000 times", async () => {
    const scene = new Scene(MAX_ROW_BYTES);
    const { log, store } = scene.open();
    await store.addMessages([user("first")]);
    let inserts = 0;
    log.before = async ({ verb }) => {
      if (verb === "insert" && ++inserts > 1) throw new Error("the connection is lost");
    };
    const large = "x".repeat(MAX_ROW_BYTES);
    for (let write = 0; write < 1_000; write++) {
      inserts = 0;
      await expect(store.addMessages([user(large)])).rejects.toMatchObject({ code: "UNAVAILABLE" });
    }
    const heads = scene.rows.rowsOf("thread").map(({ head }) => Buffer.byteLength(head));
    expect.soft(Math.max(...heads), "bytes of the largest head").toBeLessThan(4 * 1024);
    expect.soft(scene.bytesAtRest(), "bytes").toBeLessThan(2 * 2 ** 20);
    log.before = () => undefined;
    for (let day = 0; day < 4; day++) {
      await addEach(store, 100, "x");
      scene.wait(DAY);
    }
    expect(scene.bytesAtRest(), "bytes four days later").toBeLessThan(2 ** 20);
  });
});

test("C12 a commit of 420,000 small messages is refused before any request", async () => {
  const { log, store } = new Scene().open();
  const messages = Array.from({ length: 420_000 }, () => user("x"));
  const outcome = await store.addMessages(messages).catch((error: unknown) => error);
  expect(outcome).toMatchObject({ code: "TOO_LARGE" });
  expect(log.requests).toEqual([]);
});

/** A thread of 31 commits with a pinned message, metadata, dropped and large messages. The next commit collects. */
async function fillThread({ store }: Process): Promise<void> {
  await store.addMessages([system("s"), user("first")]);
  await store.commit({ append: [user("second")], metadata: "a title" });
  await store.addMessages([user("x".repeat(100_000)), user("y"), user("z".repeat(100_000))]);
  await addEach(store, 26, "u");
  await store.commit({ drop: 1 });
  await store.addMessages([user("last"), user("very last")]);
}

/** Every variant of a JSON text with one number replaced by `value`. */
function* withOneNumber(json: string, value: number): Generator<string> {
  const numbers = [...json.matchAll(/(?<=[:,[])-?\d+(?=[,\]}])/g)];
  for (const { index, 0: old } of numbers) {
    yield `${json.slice(0, index)}${value}${json.slice(index + old.length)}`;
  }
}

/** The most texts that an amendment names by their indexes. */
function textsNamed(request: LogRequest): number {
  if (request.verb !== "amend") return 0;
  const ranges = request.amendments.map(({ blank }) =>
    typeof blank === "object" ? blank.to - blank.from : 0,
  );
  return Math.max(0, ...ranges);
}

test.each([
  ["adds a message", (store: MessageStore) => store.addMessages([user("more")])],
  ["replaces the metadata", (store: MessageStore) => store.commit({ metadata: "another title" })],
  ["drops 5 messages", (store: MessageStore) => store.commit({ drop: 5 })],
  ["clears the thread", (store: MessageStore) => store.clear()],
])("C16 a damaged head makes no huge amendment when a commit %s", async (_, write) => {
  const scene = new Scene(MAX_ROW_BYTES);
  const options = { maxMessages: 12, ttlMs: DAY };
  await fillThread(scene.open(options));
  const newest = scene.rows.rowsOf("thread").reduce((a, b) => (b.number > a.number && b.head ? b : a));
  for (const value of [2 ** 53 - 1, 2 ** 32]) {
    for (const head of withOneNumber(newest.head, value)) {
      const { log, store } = scene.open(options);
      log.isFrozen = true;
      log.show = (row: LogRow) => (row.number === newest.number && row.head ? { ...row, head } : row);
      await write(store).catch((error: unknown) => expect(error).toMatchObject({ code: "CORRUPT" }));
      for (const request of log.requests) {
        if (request.verb === "amend") expect(request.amendments.length, head).toBeLessThan(5_000);
        expect(textsNamed(request), head).toBeLessThanOrEqual(10_001);
      }
    }
  }
});

describe("the work of a commit", () => {
  /** The CPU time of a commit in microseconds when `kept` commits are kept: the best of several batches. */
  async function cpuPerCommit(kept: number): Promise<number> {
    const { store } = new Scene().open({ maxMessages: kept });
    await addEach(store, kept + 100, "u");
    let best = Number.POSITIVE_INFINITY;
    for (let batch = 0; batch < 8; batch++) {
      const before = process.cpuUsage();
      await addEach(store, 50, "v");
      const { user: spent, system: kernel } = process.cpuUsage(before);
      best = Math.min(best, (spent + kernel) / 50);
    }
    return best;
  }

  test("C12 is independent of the number of kept commits", async () => {
    await cpuPerCommit(100);
    const [few, many] = [await cpuPerCommit(100), await cpuPerCommit(5_000)];
    expect(many / few, `${few} and ${many} microseconds`).toBeLessThan(3);
  });

  test("C12 is at most 3 requests and 200 rows in a cold process", async () => {
    const scene = new Scene();
    await addEach(scene.open({ maxMessages: 500 }).store, 600, "u");
    const { log, store } = scene.open({ maxMessages: 500 });
    await store.addMessages([user("last")]);
    const rows = log.requests.map((request) => (request.verb === "read" ? request.rows.length : 0));
    expect.soft(rows.length, "requests").toBeLessThanOrEqual(3);
    expect(
      rows.reduce((sum, count) => sum + count),
      "rows",
    ).toBeLessThanOrEqual(200);
  });

  test("C12 is one amendment request every 32 commits, also with large messages", async () => {
    const { log, store } = new Scene(MAX_ROW_BYTES).open({ maxMessages: 5, ttlMs: 30 * DAY });
    for (let index = 0; index < 128; index++) {
      await store.addMessages([user(index % 2 ? `${index}` : `${index}`.padEnd(100_000))]);
    }
    expect(log.count("amend")).toBeLessThanOrEqual(4);
  });
});

test("C2 a thread that expired a million times keeps its next messages", async () => {
  const ROOT = 2 ** 20 - 1;
  let now = 1.7e12;
  const clock = { wall: () => now, monotonic: () => now, sleep: async () => {} };
  const [first, later] = [new MemoryRecordLog(), new MemoryRecordLog()];
  const request = (text: string, ttlMs: number) => ({
    ...{
      threadId: "t",
      operationId: text,
      digest: "d",
      newIncarnation: text,
      drop: 0,
      append: [`1u${text}`],
    },
    ...{ expectedRevision: undefined, metadata: undefined, maxMessages: undefined, signal: undefined },
    ...{ trimming: "exact" as const, ttlMs, createdAt: now, updatedAt: now },
  });
  await new RecordLogDriver(first, { clock }).commit(request("before", 1_000));
  for (const row of first.rowsOf("t")) {
    const number = row.number === 1 ? ROOT : row.number;
    await later.insert("t", { ...row, number, head: JSON.stringify({ ...JSON.parse(row.head), r: ROOT }) });
  }
  now += 5_000;
  const driver = new RecordLogDriver(later, { clock });
  for (const text of ["one", "two"]) {
    expect(await driver.commit(request(text, DAY))).toMatchObject({ outcome: "committed" });
  }
  const all = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: true };
  const { entries } = await driver.read({ threadId: "t", ...all, signal: undefined });
  expect(entries.map(({ record }) => record)).toEqual(["1uone", "1utwo"]);
});

test("C12 an operation id of six JSON bytes per character fits in the row", () => {
  const texts = ["x".repeat(MAX_ROW_BYTES - 16 * 1024 - 18)];
  expect(fitsRow(texts, MAX_ROW_BYTES, "i".repeat(1_024))).toBe(true);
  expect(fitsRow(texts, MAX_ROW_BYTES, "\u0001".repeat(1_024))).toBe(false);
});
