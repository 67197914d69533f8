import { type MessageStore, StoreError } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { rounds } from "../../../conformance-tests/test/fixtures/rounds.ts";
import {
  type Amendment,
  type LogRow,
  MemoryRecordLog,
  type RecordLog,
  RecordLogDriver,
  type StreamPage,
  type StreamsRequest,
} from "../src/index.ts";
import { headFields } from "../src/rows/format.ts";

/** A log that returns one row with a head that differs from the written one. */
class DamagedLog implements RecordLog {
  readonly capabilities;
  readonly #log: MemoryRecordLog;
  readonly #number: number;
  readonly #head: string;
  amended: readonly Amendment[] = [];

  constructor(log: MemoryRecordLog, number: number, head: string) {
    this.#log = log;
    this.#number = number;
    this.#head = head;
    this.capabilities = log.capabilities;
  }

  #damaged = (row: LogRow): LogRow => (row.number === this.#number ? { ...row, head: this.#head } : row);

  /** Writes nothing, so that every call finds the same log. */
  async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    const [taken] = await this.read(stream, row.number + 1, 1);
    return taken?.number === row.number ? taken : true;
  }
  async read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    return (await this.#log.read(stream, below, limit)).map(this.#damaged);
  }
  async amend(_stream: string, amendments: readonly Amendment[]): Promise<void> {
    this.amended = [...this.amended, ...amendments];
  }
  streams(request: StreamsRequest): Promise<StreamPage> {
    return this.#log.streams(request);
  }
  async close(): Promise<void> {}
  classifyError(): undefined {}
}

const user = (content: string) => ({ role: "user" as const, content });
/** The rows of the thread, lowest first. */
const rowsOf = (log: MemoryRecordLog) => log.rowsOf("t").sort((a, b) => a.number - b.number);

/**
 * A thread whose heads have all fields: fragments, metadata, a pinned system message and summary, drops, a raised expiry, commits that share
 * a row, an upload, a time without a user message.
 */
async function richThread(): Promise<MemoryRecordLog> {
  const log = new MemoryRecordLog(64 * 1024);
  const stores = (ttlMs: number) =>
    createStores(new RecordLogDriver(log), { maxMessages: 12, ttlMs }).open("t");
  const store = stores(1_000_000);
  await store.addMessages([{ role: "system", content: "leading" }, user("first")]);
  const summary = { role: "assistant" as const, content: "s", metadata: { type: "scrollback.summary" } };
  await store.commit({ metadata: { title: "a" }, append: [summary, user("second")] });
  await store.addMessages([user("x".repeat(200_000)), user("small"), user("y".repeat(100_000))]);
  for (let number = 0; number < 12; number++)
    await store.addMessages([{ role: "assistant", content: `step ${number}` }]);
  for (let number = 0; number < 12; number++) await store.addMessages([user(`message ${number}`)]);
  await store.popMessage();
  await store.commit({ drop: 2, append: [user("again")], metadata: "b" });
  await stores(1_000_000_000).addMessages([user("z".repeat(150_000))]);
  await Promise.all(["at", "the", "same", "time"].map((content) => store.addMessages([user(content)])));
  const dying = new MemoryRecordLog(64 * 1024);
  let inserts = 0;
  Object.assign(dying, {
    read: log.read.bind(log),
    insert: (...row: Parameters<MemoryRecordLog["insert"]>) =>
      inserts++ < 2 ? log.insert(...row) : Promise.reject(new Error("dead")),
  });
  const dead = createStores(new RecordLogDriver(dying), { ttlMs: 1_000_000_000 }).open("t");
  await dead.addMessages([user("u".repeat(150_000))]).catch(() => undefined);
  await store.addMessages([user("last but one"), user("last")]);
  return log;
}

const odd = fc.oneof(
  fc.constantFrom<unknown>(2 ** 40, 2 ** 30, -1, 1.5, 0, 1, "x", "", null, true, [], {}, [2 ** 40]),
  fc.constantFrom<unknown>([1, 2 ** 40], [1, 2 ** 40, 1], [1, 0, 2 ** 40], [[1, 2 ** 40]], [[1, 0, 2 ** 40]]),
  fc.constantFrom<unknown>(
    [[0, 2 ** 52, 2 ** 53]],
    [[2 ** 40, 0, 1]],
    [1, [[0, 0, 1]]],
    [["token", 1, [[1, 1]]]],
    [["token", 1, [[2 ** 40, 2 ** 40]]]],
    Array.from({ length: 4_096 }, () => [2 ** 40, 2 ** 39]),
  ),
  fc.constantFrom<unknown>(
    "u".repeat(10_000),
    Array.from({ length: 1_000 }, () => 2 ** 40),
    { rows: 1 },
  ),
  fc.jsonValue(),
);

const damage = fc.oneof(
  fc.record({
    kind: fc.constant("field" as const),
    field: fc.constantFrom("v", ...Object.values(headFields).map(({ key }) => key)),
    value: odd,
  }),
  fc.record({ kind: fc.constant("cut" as const), at: fc.nat(600) }),
  fc.record({ kind: fc.constant("text" as const), text: fc.oneof(fc.string(), fc.json()) }),
);

type Damage = typeof damage extends fc.Arbitrary<infer Value> ? Value : never;

function damaged(text: string, how: Damage): string {
  if (how.kind === "text") return how.text;
  if (how.kind === "cut") return text.slice(0, how.at);
  return JSON.stringify({ ...JSON.parse(text), [how.field]: how.value });
}

test("the damaged thread has all fields of heads", async () => {
  const keys = rowsOf(await richThread()).flatMap(({ head }) => Object.keys(JSON.parse(head)));
  const rare = ["closed", "spent"];
  for (const [name, { key }] of Object.entries(headFields)) {
    if (!rare.includes(name)) expect(keys, name).toContain(key);
  }
});

describe("C16 a log in which a head is damaged", () => {
  test("is read or fails with CORRUPT at once, and claimed numbers cause no long loop", async () => {
    const log = await richThread();
    const rows = rowsOf(log);
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...rows), damage, async ({ number, head }, how) => {
        const broken = new DamagedLog(log, number, damaged(head, how));
        const open = (options: object): MessageStore =>
          createStores(new RecordLogDriver(broken), options).open("t");
        const calls: ((store: MessageStore) => Promise<unknown>)[] = [
          (store) => store.read(),
          (store) => store.read({ limit: 3 }),
          (store) => store.listMessages({ limit: 1 }),
          (store) => store.addMessages([user("more")]),
          (store) => store.clear(),
        ];
        const start = performance.now();
        for (const options of [{}, { maxMessages: 5, onCorruptRecord: () => {} }]) {
          for (const call of calls) {
            await call(open(options)).catch((error: unknown) => {
              const codes = ["CORRUPT", "UNAVAILABLE"];
              if (!StoreError.is(error) || !codes.includes(error.code)) throw error;
              // The driver would have classified a raw error as a backend failure.
              if (error.code === "UNAVAILABLE" && !error.message.includes("too many writers")) throw error;
            });
          }
        }
        expect(performance.now() - start).toBeLessThan(5_000);
        expect(broken.amended.length).toBeLessThan(1_000);
      }),
      { numRuns: rounds(80, 300) },
    );
  });

  const five = async () => {
    const log = new MemoryRecordLog();
    const store = createStores(new RecordLogDriver(log)).open("t");
    for (let number = 1; number <= 5; number++) await store.addMessages([user(`${number}`)]);
    // Row 0 of these is the root.
    const numbers = rowsOf(log).map(({ number }) => number);
    return (row: number) => new DamagedLog(log, numbers[row] ?? 0, "garbage");
  };
  const over = (log: RecordLog, options = {}) => createStores(new RecordLogDriver(log), options).open("t");

  test("fails with CORRUPT and the sequence number of the row's message, and other messages can be read", async () => {
    const broken = (await five())(3);
    await expect(over(broken).read()).rejects.toMatchObject({ code: "CORRUPT", sequence: 3 });
    const reported: (number | undefined)[] = [];
    const store = over(broken, { onCorruptRecord: (error: StoreError) => reported.push(error.sequence) });
    expect((await store.listMessages()).map(({ content }) => content)).toEqual(["1", "2", "4", "5"]);
    expect(reported).toEqual([3]);
    expect((await over(broken).listMessages({ limit: 2 })).map(({ content }) => content)).toEqual(["4", "5"]);
  });

  test("fails with CORRUPT if the damaged row is the newest, which describes the thread", async () => {
    const broken = (await five())(5);
    for (const options of [{}, { onCorruptRecord: () => {} }]) {
      await expect(over(broken, options).read()).rejects.toMatchObject({ code: "CORRUPT" });
    }
  });

  test("refuses commits, as a repeated operation id may be lost", async () => {
    const broken = (await five())(3);
    await expect(over(broken).addMessages([user("6")])).rejects.toMatchObject({ code: "CORRUPT" });
  });

  test("never returns a dropped message, nor a message at another number", async () => {
    const step = fc.oneof(
      fc.record({ add: fc.integer({ min: 1, max: 3 }) }),
      fc.record({
        drop: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant("all" as const)),
        add: fc.nat(2),
      }),
    );
    const steps = fc.array(step, { minLength: 1, maxLength: 12 });
    const property = fc.asyncProperty(steps, fc.nat(12), fc.boolean(), async (history, pick, trims) => {
      const log = new MemoryRecordLog();
      const settings = trims ? { maxMessages: 5, trimming: "exact" as const } : {};
      const store = createStores(new RecordLogDriver(log), settings).open("t");
      let texts = 0;
      for (const { add, ...drop } of history) {
        await store.commit({ ...drop, append: Array.from({ length: add }, () => user(`${++texts}`)) });
      }
      const sound = new Map((await store.read()).entries.map((entry) => [entry.sequence, entry.message]));
      const rows = rowsOf(log);
      const broken = new DamagedLog(log, rows[pick % rows.length]?.number ?? 0, "garbage");
      const reported: (number | undefined)[] = [];
      const onCorruptRecord = (error: StoreError) => reported.push(error.sequence);
      const read = over(broken, { onCorruptRecord }).read();
      const page = await read.catch((error: unknown) => {
        if (!StoreError.is(error, "CORRUPT")) throw error;
      });
      if (!page) return;
      for (const { sequence, message } of page.entries) expect(message).toEqual(sound.get(sequence));
      const seen = [...page.entries.map(({ sequence }) => sequence), ...reported];
      expect(seen.sort()).toEqual([...sound.keys()].sort());
    });
    await fc.assert(property, { numRuns: rounds(150, 400) });
  });
});
