import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type Change,
  type ChatMessage,
  createMemoryStores,
  type MessageStore,
  StoreError,
  type StoreFactory,
  type StoreOptions,
  type WriteOptions,
} from "@scrollback/store-core";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect, test } from "vitest";
import { commitIn, deleteIn, listIn, readIn, type TransactionTables } from "../transactional-driver.ts";

// The code in docs/how-to/write-an-adapter.md is the code that was tested.

const root = join(import.meta.dirname, "../..");

const page = await readFile(join(root, "docs/how-to/write-an-adapter.md"), "utf8");

test("the blocks of the page are excerpts of the examples, whose path stands after the language", async () => {
  const blocks = [...page.matchAll(/^```typescript(.*?)\n(.*?)\n```$/gms)];
  expect(blocks.length).toBeGreaterThan(5);
  for (const [, path = "", code] of blocks) {
    expect(await readFile(join(root, "examples", path.trim()), "utf8")).toContain(`${code}\n`);
  }
});

/** The lines of a file, without blank lines and lines that contain only a comment. */
async function codeLines(path: string): Promise<number> {
  const text = await readFile(join(root, path), "utf8");
  const code = text.replaceAll(/^\s*\/\*\*.*?\*\/$/gms, "").replaceAll(/^\s*\/\/.*$/gm, "");
  return code.split("\n").filter((line) => line.trim() !== "").length;
}

test("the page states the approximate lines of code of each file of the example in SQL", async () => {
  const rows = [...page.matchAll(/^\| `(sql\/src\/[\w-]+\.ts)` \| [^|]+ \| (\d+) \|/gm)];
  const files = (await readdir(join(root, "examples/sql/src"))).map((name) => `sql/src/${name}`);
  expect(rows.map(([, file]) => file).sort()).toEqual(files.sort());
  for (const [, file = "", lines] of rows) {
    const counted = await codeLines(`examples/${file}`);
    expect(Math.abs(Number(lines) - counted) / counted, `${file} has ${counted} lines`).toBeLessThan(0.2);
  }
});

type StoredThread = NonNullable<ReturnType<TransactionTables["thread"]>>;
type Entry = ReturnType<TransactionTables["messages"]>[number];
type Operation = NonNullable<ReturnType<TransactionTables["operation"]>>;

/** The tables of the example, as maps. */
class MapTables implements TransactionTables {
  readonly #threads = new Map<string, StoredThread>();
  readonly #operations = new Map<string, Map<string, Operation>>();
  readonly #messages = new Map<string, Map<number, Entry>>();
  readonly #metadata = new Map<string, string>();

  thread = (id: string) => this.#threads.get(id);
  setThread = (id: string, thread: StoredThread) => this.#threads.set(id, thread);
  threadIds(prefix: string, after: string, limit: number) {
    const ids = [...this.#threads.keys()].filter((id) => id.startsWith(prefix) && id > after);
    return ids.sort().slice(0, limit);
  }
  removeThread(id: string) {
    for (const table of [this.#threads, this.#operations, this.#messages, this.#metadata]) table.delete(id);
  }
  operation = (id: string, operationId: string) => this.#operations.get(id)?.get(operationId);
  addOperation(id: string, operationId: string, operation: Operation) {
    this.#operations.set(id, (this.#operations.get(id) ?? new Map()).set(operationId, operation));
  }
  forgetOperations(id: string, upTo: number) {
    for (const [operationId, { commit }] of this.#operations.get(id) ?? []) {
      if (commit <= upTo) this.#operations.get(id)?.delete(operationId);
    }
  }
  kind = (id: string, sequence: number) => this.#messages.get(id)?.get(sequence)?.kind;
  messages(id: string, from: number, to: number) {
    return [...(this.#messages.get(id)?.values() ?? [])]
      .filter(({ sequence }) => sequence >= from && sequence < to)
      .sort((a, b) => a.sequence - b.sequence);
  }
  addMessage(id: string, entry: Entry) {
    this.#messages.set(id, (this.#messages.get(id) ?? new Map()).set(entry.sequence, entry));
  }
  removeMessages(id: string, from: number, to: number) {
    for (const { sequence } of this.messages(id, from, to)) this.#messages.get(id)?.delete(sequence);
  }
  metadata = (id: string) => this.#metadata.get(id) ?? null;
  setMetadata(id: string, text: string | null) {
    if (text === null) this.#metadata.delete(id);
    else this.#metadata.set(id, text);
  }
  countMessages = (id: string) => this.#messages.get(id)?.size ?? 0;
}

const message = fc.constantFrom<ChatMessage>(
  { role: "system", content: "rules" },
  { role: "user", content: "question" },
  { role: "assistant", content: "answer" },
  {
    role: "tool",
    content: [{ type: "tool-result", toolCallId: "a", toolName: "tool", output: null }],
  },
);
const step = fc.record({
  deletes: fc.nat(9).map((die) => die === 0),
  change: fc.record<Change>({
    drop: fc.constantFrom<number | "all">(0, 0, 0, 1, 3, "all"),
    append: fc.array(message, { maxLength: 4 }),
    metadata: fc.constantFrom(undefined, undefined, null, "title"),
  }),
  operation: fc.nat(30),
  expected: fc.constantFrom("any", "current", "another"),
  limit: fc.nat(5),
});
const options = fc.record<StoreOptions>(
  { maxMessages: fc.integer({ min: 1, max: 6 }), trimming: fc.constantFrom("turns", "exact") },
  { requiredKeys: [] },
);

test("the documented driver behaves as the memory driver", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), options, async (steps, storeOptions) => {
      const tables = new MapTables();
      const memory = createMemoryStores(storeOptions);
      const driver: Driver = {
        capabilities: {
          backend: "documented",
          maxMessageBytes: 16 * 1024 ** 2,
          maxCommitBytes: 64 * 1024 ** 2,
          maxCommitMessages: Number.MAX_SAFE_INTEGER,
          sharing: "driver",
          expiry: true,
          trimmedWithinCommits: 0,
          deletedWithinMs: 0,
          roundTrips: { commit: 0, read: 0 },
        },
        commit: async (request) => commitIn(tables, request),
        read: async (request) => readIn(tables, request),
        delete: async (request) => deleteIn(tables, request),
        list: async (request) => listIn(tables, request),
        close: async () => {},
        classifyError: () => undefined,
      };
      const sides = [createStores(driver, storeOptions), memory].map((stores) => ({
        stores,
        store: stores.open("chat"),
      }));
      for (const { stores } of sides)
        for (const id of ["a", "b", "c", "chat 2"])
          await stores.open(id).commit({ metadata: id }, { createdAt: 1 });
      let deletions = 0;
      for (const [index, { change, operation, expected, limit, deletes }] of steps.entries()) {
        if (deletes) deletions += 1;
        // The two implementations remember the ids of a deleted thread for different times.
        const operationId = `operation ${operation} ${deletions}`;
        const [mine, reference] = await Promise.all(
          sides.map(async ({ stores, store }) => ({
            deletion: deletes && (await deletionOf(stores, store, expected)),
            outcome: await outcomeOf(store, change, { operationId, createdAt: index }, expected),
            page: await pageOf(store, limit),
            all: await pageOf(store),
            threads: await threadsOf(stores, limit),
          })),
        );
        expect(mine).toStrictEqual(reference);
        expect(tables.countMessages("chat"), "all trimmed content is deleted").toBe(mine?.all.entries.length);
      }
    }),
    { numRuns: 150 },
  );
});

/** Revisions are random; the number of their commit is not. */
const commitOf = (revision: string | null) => revision?.split(".")[1];

async function expecting(store: MessageStore, expected: string) {
  const { revision } = await store.read({ limit: 0 });
  return expected === "any" ? {} : { expectedRevision: expected === "current" ? revision : "another.1" };
}

async function outcomeOf(store: MessageStore, change: Change, options: WriteOptions, expected: string) {
  try {
    return commitOf(await store.commit(change, { ...options, ...(await expecting(store, expected)) }));
  } catch (error) {
    if (StoreError.is(error)) return error.code;
    throw error;
  }
}

async function deletionOf(stores: StoreFactory, store: MessageStore, expected: string) {
  try {
    await stores.deleteThread(store.threadId, await expecting(store, expected));
    return "deleted";
  } catch (error) {
    if (StoreError.is(error)) return error.code;
    throw error;
  }
}

async function threadsOf(stores: StoreFactory, limit: number) {
  const threads: object[] = [];
  for await (const { bytes, ...thread } of stores.iterateThreads({ limit: limit + 1 })) threads.push(thread);
  return threads.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

async function pageOf(store: MessageStore, limit?: number) {
  const { revision, older, newer, ...page } = await store.read(limit === undefined ? {} : { limit });
  return { ...page, commit: commitOf(revision), cursors: [older !== undefined, newer !== undefined] };
}
