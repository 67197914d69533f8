import { setImmediate as later } from "node:timers/promises";
import { expect, test } from "vitest";
import {
  type Amendment,
  type Clock,
  createStores,
  type LogRow,
  MemoryRecordLog,
  type MessageStore,
  REMEMBERED_OPERATIONS,
  type RecordLog,
  RecordLogDriver,
  type StreamPage,
  type StreamsRequest,
} from "../src/index.ts";

const DAY = 24 * 60 * 60 * 1000;

/** A log with a gate before and after each request, which may wait, throw, change the clocks or let others write. */
class GatedLog implements RecordLog {
  readonly capabilities;
  readonly #log: MemoryRecordLog;
  readonly requests: string[] = [];
  /** What an insert returns instead, once the row is inserted. */
  answer: (() => Promise<boolean>) | undefined;
  /** Called with the number of rows that a read asks for. */
  look: (limit: number) => void = () => undefined;
  gate: (request: "insert" | "read" | "amend", count: number) => Promise<void> = async () => undefined;
  afterwards: (request: "insert" | "read" | "amend", count: number) => Promise<void> = async () => undefined;

  constructor(log: MemoryRecordLog) {
    this.#log = log;
    this.capabilities = log.capabilities;
  }

  async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    const inserted = await this.#pass("insert", () => this.#log.insert(stream, row));
    return this.answer ? await this.answer() : inserted;
  }
  read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    this.look(limit);
    return this.#pass("read", () => this.#log.read(stream, below, limit));
  }
  amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    return this.#pass("amend", () => this.#log.amend(stream, amendments));
  }
  streams(request: StreamsRequest): Promise<StreamPage> {
    return this.#log.streams(request);
  }
  async close(): Promise<void> {}
  classifyError(): { code: "UNAVAILABLE"; message: string } {
    return { code: "UNAVAILABLE", message: "gone" };
  }
  async #pass<T>(request: "insert" | "read" | "amend", run: () => Promise<T>): Promise<T> {
    const count = this.requests.push(request);
    await this.gate(request, count);
    const result = await run();
    await this.afterwards(request, count);
    return result;
  }
}

function setUp(options: { maxRowBytes?: number; ttlMs?: number; maxMessages?: number } = {}) {
  const { maxRowBytes, ...storeOptions } = options;
  const time = { now: Date.now() };
  const clock: Clock = { wall: () => time.now, monotonic: () => time.now, sleep: () => later() };
  const log = new MemoryRecordLog(maxRowBytes);
  const open = (): { log: GatedLog; store: MessageStore } => {
    const gated = new GatedLog(log);
    return { log: gated, store: createStores(new RecordLogDriver(gated, { clock }), storeOptions).open("t") };
  };
  const wait = (ms: number) => {
    time.now += ms;
    log.sweep(time.now);
  };
  return { log, open, wait };
}

const user = (content: string) => ({ role: "user" as const, content });
const contents = async (store: MessageStore) =>
  (await store.listMessages()).map((message) => message.content);

async function addSome(store: MessageStore, count: number, prefix: string): Promise<void> {
  for (let index = 0; index < count; index++) await store.addMessages([user(`${prefix}${index}`)]);
}

test("a whole read of small commits takes few requests, one of large commits asks for few rows at once", async () => {
  const asked = async (commits: number, content: string) => {
    const { open } = setUp();
    const { store } = open();
    for (let n = 0; n < commits; n++) await store.addMessages([{ role: "user", content }]);
    const reader = open();
    const limits: number[] = [];
    reader.log.look = (limit) => limits.push(limit);
    expect(await reader.store.listMessages()).toHaveLength(commits);
    return limits;
  };
  const small = await asked(1_000, "small");
  expect(small).toHaveLength(2);
  expect(small[0]).toBeLessThanOrEqual(257);
  const large = await asked(600, "x".repeat(20_000));
  expect(Math.max(...large)).toBeLessThanOrEqual(260);
});

test("a commit is one insert, a read of the newest few one read, a first write one read more", async () => {
  const { open } = setUp();
  const a = open();
  await addSome(a.store, 200, "a");
  // The first commit inserts a root too.
  expect(a.log.requests).toEqual(["read", ...Array<string>(201).fill("insert")]);
  const b = open();
  await b.store.addMessages([user("b")]);
  expect(b.log.requests).toEqual(["read", "insert"]);
  await b.store.listMessages({ limit: 20 });
  expect(b.log.requests).toEqual(["read", "insert", "read"]);
});

test("a first write to a thread that trims is one read more, and a second one past 64 kept commits", async () => {
  for (const [maxMessages, reads] of [
    [40, 1],
    [200, 2],
    [5_000, 2],
  ] as const) {
    const { open } = setUp({ maxMessages });
    const a = open();
    await addSome(a.store, maxMessages + 100, "a");
    const b = open();
    await b.store.addMessages([user("b")]);
    expect(b.log.requests.filter((request) => request === "read")).toHaveLength(reads);
    expect(b.log.requests.at(-1)).toBe("insert");
    expect(await contents(b.store)).toHaveLength(maxMessages);
  }
});

test("a writer that was overtaken once goes on from the row that won, without a read", async () => {
  const { open } = setUp();
  const [a, b] = [open(), open()];
  await addSome(a.store, 3, "a");
  await addSome(b.store, 3, "b");
  a.log.requests.length = 0;
  // Three rows of b's: the first is handed over, the end is read.
  await addSome(a.store, 1, "c");
  expect(a.log.requests).toEqual(["insert", "insert", "read", "insert"]);
  b.log.requests.length = 0;
  await addSome(b.store, 1, "d");
  expect(b.log.requests).toEqual(["insert", "insert"]);
  expect(await contents(b.store)).toEqual(["a0", "a1", "a2", "b0", "b1", "b2", "c0", "d0"]);
});

test("a writer that catches up reads the newest few rows, however long the thread is", async () => {
  const { open } = setUp();
  const [a, b] = [open(), open()];
  await addSome(a.store, 200, "a");
  const looks: number[] = [];
  const add = async (count: number) => {
    await addSome(b.store, count, "b");
    a.log.look = (limit) => looks.push(limit);
    await addSome(a.store, 1, "c");
    a.log.look = () => undefined;
    return looks.splice(0);
  };
  expect(await add(3)).toEqual([8]);
  // More than these: then it reads all that a first write has to know.
  expect(await add(30)).toEqual([8, 80]);
  expect(await contents(a.store)).toHaveLength(200 + 3 + 1 + 30 + 1);
});

test("a thread that is trimmed costs one amendment every 32 commits", async () => {
  const { open } = setUp({ maxMessages: 10 });
  const { log, store } = open();
  await addSome(store, 20, "a");
  log.requests.length = 0;
  await addSome(store, 96, "b");
  expect(log.requests.filter((request) => request === "insert")).toHaveLength(96);
  expect(log.requests.filter((request) => request === "amend")).toHaveLength(3);
  expect(log.requests.filter((request) => request === "read")).toHaveLength(0);
});

test("an append to a long thread sends what an append to a short one does", async () => {
  const { open } = setUp();
  const { log, store } = open();
  for (let batch = 0; batch < 50; batch++) {
    await store.addMessages(Array.from({ length: 100 }, (_, index) => user(`${batch}-${index}`)));
  }
  log.requests.length = 0;
  await store.addMessages([user("one more")]);
  expect(log.requests).toEqual(["insert"]);
  const sizes = (await contents(store)).length;
  expect(sizes).toBe(5_001);
});

test("pages of a long thread are read from where the last one ended", async () => {
  const { open } = setUp();
  const { log, store } = open();
  await addSome(store, 3_000, "m");
  let page = await store.read({ limit: 20 });
  const seen = page.entries.map((entry) => entry.sequence);
  for (let pages = 0; pages < 30 && page.older; pages++) {
    log.requests.length = 0;
    page = await store.read({ limit: 20, before: page.older });
    expect(log.requests.length).toBeLessThanOrEqual(2);
    seen.unshift(...page.entries.map((entry) => entry.sequence));
  }
  expect(seen).toEqual(Array.from({ length: 620 }, (_, index) => 2_381 + index));
  log.requests.length = 0;
  const first = await store.read({ limit: 20, before: (await store.read({ limit: 0 })).older ?? "" });
  expect(first.entries).toHaveLength(20);
});

interface Meanwhile {
  readonly ttlMs?: number;
  /** The keys of the late row and of the next one were deleted, so nothing tells whether the commit was made. */
  readonly isUnknown?: true;
  /** Returns the messages of the thread after it. */
  play(store: MessageStore, wait: (ms: number) => void): Promise<string[]>;
}

/** What happened while a writer was paused after it read the end and before its insert. */
const meanwhile: Readonly<Record<string, Meanwhile>> = {
  "others wrote": {
    play: async (store) => {
      await addSome(store, 3, "other");
      return ["before", "other0", "other1", "other2"];
    },
  },
  "others wrote, cleared and wrote until all keys it knew were deleted": {
    isUnknown: true,
    play: async (store, wait) => {
      await addSome(store, 80, "gone");
      await store.clear();
      await addSome(store, 130, "other");
      wait(3 * DAY);
      await addSome(store, 70, "more");
      wait(3 * DAY);
      return [
        ...Array.from({ length: 130 }, (_, i) => `other${i}`),
        ...Array.from({ length: 70 }, (_, i) => `more${i}`),
      ];
    },
  },
  "the thread expired and was swept": {
    ttlMs: 1_000,
    play: async (_, wait) => {
      wait(30 * DAY);
      return [];
    },
  },
  "the thread expired, was swept, and began anew": {
    ttlMs: DAY,
    play: async (store, wait) => {
      await addSome(store, 70, "gone");
      wait(30 * DAY);
      await addSome(store, 5, "new");
      return ["new0", "new1", "new2", "new3", "new4"];
    },
  },
};

for (const [name, { ttlMs, isUnknown, play }] of Object.entries(meanwhile)) {
  const options = ttlMs === undefined ? {} : { ttlMs };

  test(`a late writer loses nothing and hides nothing: ${name}`, async () => {
    const { open, wait } = setUp(options);
    const [late, other] = [open(), open()];
    await late.store.addMessages([user("before")]);
    let expected: string[] = [];
    late.log.gate = async (request) => {
      if (request !== "insert") return;
      late.log.gate = async () => undefined;
      expected = await play(other.store, wait);
    };
    const commit = late.store.addMessages([user("late")]);
    if (isUnknown) {
      await expect(commit).rejects.toMatchObject({
        code: "UNAVAILABLE",
        retryable: false,
        message: expect.stringContaining("outcome is unknown"),
      });
    } else await commit;
    const all = isUnknown ? expected : [...expected, "late"];
    expect(await contents(other.store)).toEqual(all);
    expect(await contents(open().store)).toEqual(all);
    await other.store.addMessages([user("after")]);
    expect(await contents(late.store)).toEqual([...all, "after"]);
  });

  test(`a late writer that dies right after its insert hides nothing: ${name}`, async () => {
    const { open, wait } = setUp(options);
    const [late, other] = [open(), open()];
    await late.store.addMessages([user("before")]);
    let expected: string[] = [];
    late.log.gate = async (request) => {
      if (request !== "insert") return;
      late.log.gate = async () => {
        throw new Error("dead");
      };
      expected = await play(other.store, wait);
    };
    late.log.afterwards = () => Promise.reject(new Error("dead"));
    await expect(late.store.addMessages([user("late")])).rejects.toThrow();
    const found = await contents(other.store);
    expect([expected, [...expected, "late"]]).toContainEqual(found);
    await addSome(other.store, 600, "after");
    expect(await contents(open().store)).toEqual([
      ...found,
      ...Array.from({ length: 600 }, (_, i) => `after${i}`),
    ]);
  });
}

test("a commit whose reply comes after days keeps its message, which others have read meanwhile", async () => {
  const { open, wait } = setUp();
  const [late, other] = [open(), open()];
  await other.store.addMessages([user("before")]);
  const held = Promise.withResolvers<void>();
  const isInserted = Promise.withResolvers<void>();
  late.log.afterwards = async (request) => {
    if (request !== "insert") return;
    late.log.afterwards = async () => undefined;
    isInserted.resolve();
    await held.promise;
  };
  const commit = late.store.addMessages([user("late")]).catch((error: unknown) => {
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
  });
  await isInserted.promise;
  // The row above the late one has no content: its key is freed, and deleted.
  await other.store.commit({ metadata: null });
  await addSome(other.store, 200, "other");
  wait(3 * DAY);
  const all = ["before", "late", ...Array.from({ length: 200 }, (_, i) => `other${i}`)];
  expect(await contents(other.store)).toEqual(all);
  held.resolve();
  await commit;
  expect(await contents(other.store)).toEqual(all);
  expect(await contents(open().store)).toEqual(all);
});

test("a commit that dies between any two requests is whole or absent, and later commits blank what it left", async () => {
  const big = (mark: string) => [
    user(`${mark}${"x".repeat(150_000)}`),
    user(`${mark} small`),
    user(mark.repeat(60_000)),
  ];
  for (let point = 1; ; point++) {
    for (const when of ["gate", "afterwards"] as const) {
      const { log, open } = setUp({ maxRowBytes: 64 * 1024 });
      const [dying, other] = [open(), open()];
      await other.store.addMessages([user("old")]);
      dying.log[when] = async (_, count) => {
        if (count >= point) throw new Error("dead");
      };
      const died = await dying.store.replaceMessages(big("L")).then(
        () => false,
        () => true,
      );
      const found = (await contents(other.store)).map((content) => String(content).slice(0, 7));
      expect([["old"], ["Lxxxxxx", "L small", "LLLLLLL"]]).toContainEqual(found);
      if (!died) expect(found).toHaveLength(3);
      await other.store.clear();
      await addSome(other.store, 130, "after");
      const stored = log.rowsOf("t").flatMap((row) => row.texts);
      expect(stored.filter((text) => text.includes("xxx") || text.includes("LLL"))).toEqual([]);
      expect(stored.join("")).not.toContain("old");
      if (!died && when === "afterwards") return;
    }
  }
});

test("a commit whose fragments are freed while it is paused inserts them again", async () => {
  const { open } = setUp({ maxRowBytes: 64 * 1024 });
  const [slow, other] = [open(), open()];
  await other.store.addMessages([user("old")]);
  let inserts = 0;
  slow.log.gate = async (request) => {
    if (request === "insert" && ++inserts === 4) await addSome(other.store, 200, "other");
  };
  await slow.store.addMessages([user("y".repeat(150_000))]);
  const found = await contents(open().store);
  expect(found).toHaveLength(202);
  expect(found.at(-1)).toBe("y".repeat(150_000));
  await addSome(other.store, 100, "more");
  expect((await contents(open().store))[201]).toBe("y".repeat(150_000));
});

test("a read is one revision, also when a commit removes what it was about to read", async () => {
  const { open } = setUp();
  const [reader, writer] = [open(), open()];
  await addSome(writer.store, 600, "m");
  reader.log.gate = async (_, count) => {
    if (count === 2) await writer.store.replaceMessages([user("new")]);
  };
  expect(await contents(reader.store)).toEqual(["new"]);
});

test("many writers lose no message and keep their batches whole", async () => {
  const { open } = setUp();
  const writers = Array.from({ length: 16 }, open);
  for (const { log } of writers)
    log.gate = () => new Promise((resolve) => setTimeout(resolve, Math.random() * 3));
  await Promise.all(
    writers.map(async ({ store }, writer) => {
      for (let batch = 0; batch < 6; batch++) {
        await store.addMessages([user(`${writer}/${batch}/0`), user(`${writer}/${batch}/1`)]);
      }
    }),
  );
  const found = await contents(open().store);
  expect(new Set(found).size).toBe(16 * 6 * 2);
  for (let at = 0; at < found.length; at += 2) {
    expect(found[at + 1]).toBe(String(found[at]).replace(/0$/, "1"));
  }
  for (let writer = 0; writer < 16; writer++) {
    const own = found.filter((content) => String(content).startsWith(`${writer}/`));
    expect(own).toEqual([...own].sort());
  }
}, 60_000);

test("a row of a newer format version is CORRUPT and says what to upgrade", async () => {
  const log = new MemoryRecordLog();
  await log.insert("t", { number: Date.now() * 2048, head: '{"v":2}', texts: [] });
  const store = createStores(new RecordLogDriver(log)).open("t");
  await expect(store.listMessages()).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringMatching(/upgrade @scrollback\/store-core/),
  });
  await expect(store.addMessages([user("x")])).rejects.toMatchObject({ code: "CORRUPT" });
});

test("metadata of a newer format version is CORRUPT and says what to upgrade", async () => {
  const log = new MemoryRecordLog();
  const store = createStores(new RecordLogDriver(log)).open("t");
  await store.commit({ append: [user("x")], metadata: { title: "x" } });
  const [row] = await log.read("t", Number.POSITIVE_INFINITY, 1);
  log.plant("t", row?.number ?? 0, 1, '2m{"title":"from the future"}');
  await expect(store.read()).rejects.toMatchObject({
    code: "CORRUPT",
    message: expect.stringMatching(/metadata.*version 2.*upgrade @scrollback\/store-core/),
  });
  expect(await store.listMessages()).toEqual([user("x")]);
});

test("a thread that is written to is kept for longer than its first rows were to be kept", async () => {
  const { open, wait, log } = setUp({ ttlMs: 2 * DAY, maxRowBytes: 64 * 1024 });
  const { store } = open();
  await store.commit({
    append: [{ role: "system", content: "s" }, user("z".repeat(100_000))],
    metadata: { a: 1 },
  });
  await addSome(store, 300, "m");
  for (let day = 0; day < 40; day++) {
    wait(DAY);
    await store.addMessages([user(`day ${day}`)]);
  }
  const page = await open().store.read();
  expect(page.entries).toHaveLength(342);
  expect(page.metadata).toEqual({ a: 1 });
  expect(page.entries[1]?.message.content).toHaveLength(100_000);
  wait(8 * DAY);
  expect(await contents(open().store)).toEqual([]);
  expect(
    log.rowsOf("t").map(({ number }) => number),
    "the root stays for longer",
  ).toEqual([1]);
  wait(30 * DAY);
  expect(log.rowsOf("t")).toEqual([]);
});

test("a commit under way is not lost when its acknowledgement is", async () => {
  const { open } = setUp();
  const { log, store } = open();
  await store.addMessages([user("a")]);
  log.afterwards = async (request) => {
    if (request !== "insert") return;
    log.afterwards = async () => undefined;
    throw new Error("cut");
  };
  await expect(store.addMessages([user("b")], { operationId: "b" })).rejects.toMatchObject({
    code: "UNAVAILABLE",
  });
  await store.addMessages([user("b")], { operationId: "b" });
  expect(await contents(store)).toEqual(["a", "b"]);
});

test.each([
  ["fails after its insert", () => Promise.reject(new Error("cut"))],
  ["is told that its key is taken, by its own row", () => Promise.resolve(false)],
])("a commit that %s counts once, however many others come in between", async (_, answer) => {
  const { log, open } = setUp();
  const { log: gated, store } = open();
  await store.addMessages([user("a")]);
  gated.answer = async () => {
    gated.answer = undefined;
    await addSome(open().store, 200, "");
    return await answer();
  };
  const revision = await store.addMessages([user("once")], { operationId: "o" }).catch(async () => {
    expect(log.rowsOf("t")).toHaveLength(1 + 202);
    return await store.addMessages([user("once")], { operationId: "o" });
  });
  expect(revision).toMatch(/\.2$/);
  expect((await contents(store)).filter((text) => text === "once")).toHaveLength(1);
  // And no more is known of it than that: a later one under its id is another.
  await addSome(store, REMEMBERED_OPERATIONS, "later");
  await store.addMessages([user("again")], { operationId: "o" });
  expect((await contents(store)).at(-1)).toBe("again");
});

test("a commit while its thread expires goes on with it or meets a conflict, and never begins another", async () => {
  const ttlMs = 1_000;
  for (let step = 50; step < ttlMs; step += 50) {
    let [now, isTicking] = [Date.now(), false];
    const wall = () => {
      if (isTicking) now += step;
      return now;
    };
    const clock = { wall, monotonic: () => 0, sleep: () => later() };
    const driver = new RecordLogDriver(new MemoryRecordLog(), { clock });
    const store = createStores(driver, { ttlMs }).open("t");
    const first = await store.addMessages([user("a")]);
    isTicking = true;
    const next = await store.addMessages([user("b")], { expectedRevision: first }).catch((error: unknown) => {
      expect(error).toMatchObject({ code: "CONFLICT" });
    });
    if (next) expect(next).toBe(first?.replace(/1$/, "2"));
  }
});

test("what a clear dropped is gone when it returns, also when it failed after its insert and is repeated", async () => {
  const { log, open } = setUp();
  const { log: gated, store } = open();
  await addSome(store, 5, "secret");
  gated.gate = async (request) => {
    if (request === "amend") throw new Error("cut");
  };
  await expect(store.clear({ operationId: "c" })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  gated.gate = async () => undefined;
  await open().store.clear({ operationId: "c" });
  expect(JSON.stringify(log.rowsOf("t"))).not.toContain("secret");
});
