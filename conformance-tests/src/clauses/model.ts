import { inspect } from "node:util";
import {
  type ChatMessage,
  type MessageStore,
  StoreError,
  type StoreFactory,
  type StoreOptions,
} from "@scrollback/store-core";
import { createStores, type Driver, MemoryDriver } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect } from "vitest";
import { listAll } from "../checks/listings.ts";
import { checkProperty } from "../checks/property.ts";
import type { Clause } from "../clause.ts";
import { history } from "../trimming-examples.ts";

const kinds = [
  ...["add", "commit", "replace", "clear", "pop", "list", "read"],
  ...["delete", "expire", "threads"],
] as const;
/** The most informative kinds are the most frequent. */
const kindsByWeight: readonly (typeof kinds)[number][] = [...kinds, "add", "add", "commit", "commit", "read"];

/** A time to live longer than any run. */
const LONG_TTL_MS = 3_600_000;
/** The times in commands are much earlier than those of a clock. */
const LATEST_GIVEN = 10_000;

/** Numbers select from what a side has returned so far, so that both sides select the same: revisions, cursors. */
interface Command {
  readonly kind: (typeof kinds)[number];
  /** Selects one of two threads, and one of two stores for it, each with different options. */
  readonly thread: 0 | 1;
  readonly store: 0 | 1;
  /** Messages in short form, see {@link history}. */
  readonly append: string;
  readonly drop: number | "all";
  readonly metadata: unknown;
  readonly operation: number | undefined;
  readonly createdAt: number;
  readonly ttlMs: number | null;
  readonly expected: "any" | "current" | "gone" | number;
  readonly limit: number | undefined;
  readonly cursor: { readonly side: "before" | "after"; readonly pick: number } | undefined;
}

/** The outcome of a command: plain data in which revisions are numbered by their first appearance. */
type Outcome = { readonly code: string } | { readonly value: unknown };

const often = <T>(value: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });

const command: fc.Arbitrary<Command> = fc.record<Command>({
  kind: fc.constantFrom(...kindsByWeight),
  thread: often<0 | 1>(0, fc.constant(1)),
  store: fc.constantFrom(0, 1),
  append: fc.string({ unit: fc.constantFrom(..."suuaactrp"), maxLength: 5 }),
  drop: often<number | "all">(0, fc.constantFrom<number | "all">(1, 2, 3, 9, "all")),
  metadata: often<unknown>(undefined, fc.constantFrom(null, 0, { a: undefined }, new Map([["a.b", 1n]]))),
  operation: often<number | undefined>(undefined, fc.nat(3)),
  createdAt: fc.nat(LATEST_GIVEN),
  ttlMs: fc.constantFrom(null, LONG_TTL_MS),
  expected: often<Command["expected"]>("any", fc.oneof(fc.constantFrom("current", "gone"), fc.nat(20))),
  limit: often<number | undefined>(undefined, fc.nat(4)),
  cursor: fc.option(fc.record({ side: fc.constantFrom("before", "after"), pick: fc.nat(20) }), {
    nil: undefined,
  }),
});

const options: fc.Arbitrary<StoreOptions> = fc.oneof(
  fc.constant({}),
  fc.constant({ ttlMs: LONG_TTL_MS }),
  fc.record({ maxMessages: fc.integer({ min: 1, max: 6 }), trimming: fc.constantFrom("turns", "exact") }),
);

/** A command as a readable line. */
function tell({ kind, thread, store, ...details }: Command): string {
  const set = Object.entries(details).filter(
    ([, value]) => value !== undefined && value !== "" && value !== 0,
  );
  const shown = set.map(([name, value]) => `${name} ${inspect(value)}`).join(", ");
  return `  ${kind} on thread ${thread}, store ${store}${shown && `: ${shown}`}`;
}

/** One of the two compared drivers, with everything that it has returned so far. */
class Side {
  readonly #factories: readonly StoreFactory[];
  readonly #threads: readonly string[];
  readonly #stores: readonly (readonly MessageStore[])[];
  /** The number of deletions of each thread. */
  readonly #deletions: number[] = [];
  readonly #revisions: (string | null)[] = [];
  readonly #cursors: string[] = [];

  constructor(driver: Driver, threadIds: readonly string[], variants: readonly StoreOptions[]) {
    this.#factories = variants.map((variant) => createStores(driver, variant));
    this.#threads = threadIds;
    this.#stores = threadIds.map((id) => this.#factories.map((stores) => stores.open(id)));
  }

  async run(command: Command): Promise<Outcome> {
    const store = this.#stores[command.thread]?.[command.store];
    const factory = this.#factories[command.store];
    if (!store || !factory) throw new Error("the store does not exist");
    try {
      return { value: await this.#do(store, factory, command) };
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      return { code: error.code };
    }
  }

  /** The whole of every thread, as each store reads it. */
  async everything(): Promise<unknown> {
    const found: unknown[] = [];
    // One after the other: revisions are numbered in the order in which they appear.
    for (const store of this.#stores.flat()) found.push(await this.#read(store, {}));
    return found;
  }

  async #do(store: MessageStore, factory: StoreFactory, command: Command): Promise<unknown> {
    const { kind, drop, metadata, limit, cursor } = command;
    // Few different contents, so that an operation id may be repeated with the same change.
    const append: ChatMessage[] = history(command.append);
    switch (kind) {
      case "add":
        return this.#numberOf(await store.addMessages(append, await this.#writeOptions(store, command)));
      case "commit":
        return this.#numberOf(
          await store.commit({ drop, append, metadata }, await this.#writeOptions(store, command)),
        );
      case "replace":
        return this.#numberOf(await store.replaceMessages(append, await this.#writeOptions(store, command)));
      case "clear":
        return this.#numberOf(await store.clear(await this.#writeOptions(store, command)));
      case "pop":
        return await store.popMessage();
      case "list":
        return await store.listMessages(limit === undefined ? {} : { limit });
      case "read": {
        const picked = cursor && this.#cursors[cursor.pick % this.#cursors.length];
        return await this.#read(store, {
          ...(limit !== undefined && { limit }),
          ...(cursor && picked !== undefined && { [cursor.side]: picked }),
        });
      }
      case "delete":
        await factory.deleteThread(store.threadId, await this.#expected(store, command));
        this.#deletions[command.thread] = (this.#deletions[command.thread] ?? 0) + 1;
        return undefined;
      case "expire":
        return this.#numberOf(await store.expire(command.ttlMs, await this.#expected(store, command)));
      case "threads":
        return await this.#list(factory, limit);
    }
  }

  async #writeOptions(store: MessageStore, command: Command) {
    const { operation, createdAt, thread } = command;
    // Drivers differ in how long they remember the ids of a deleted thread.
    const operationId = `operation ${operation} ${this.#deletions[thread] ?? 0}`;
    return {
      createdAt,
      ...(operation !== undefined && { operationId }),
      ...(await this.#expected(store, command)),
    };
  }

  async #expected(store: MessageStore, { expected }: Command) {
    let expectedRevision: string | null | undefined;
    if (expected === "gone") expectedRevision = null;
    else if (expected === "current") expectedRevision = (await store.read({ limit: 0 })).revision;
    else if (expected !== "any") expectedRevision = this.#revisions[expected % this.#revisions.length];
    return expectedRevision === undefined ? {} : { expectedRevision };
  }

  async #read(store: MessageStore, options: object): Promise<unknown> {
    const { revision, older, newer, ...page } = await store.read(options);
    for (const cursor of [older, newer]) if (cursor !== undefined) this.#cursors.push(cursor);
    const cursors = [older !== undefined && "older", newer !== undefined && "newer"];
    return { ...page, ...timesOf(page), revision: this.#numberOf(revision), cursors };
  }

  async #list(factory: StoreFactory, limit = 100): Promise<unknown> {
    const prefix = this.#threads[0]?.slice(0, -1) ?? "";
    const listed = await listAll(factory, { prefix, limit: Math.max(1, limit) });
    return listed
      .map(({ bytes, ...thread }) => ({ ...thread, ...timesOf(thread) }))
      .sort((a, b) => (a.threadId < b.threadId ? -1 : 1));
  }

  #numberOf(revision: string | null): number {
    const known = this.#revisions.indexOf(revision);
    return known >= 0 ? known : this.#revisions.push(revision) - 1;
  }
}

/** The times that both sides have in common: those of commands, and whether there are others. */
function timesOf({ updatedAt = 0, ...times }: { readonly updatedAt?: number; readonly expiresAt?: number }) {
  return {
    updatedAt: updatedAt > LATEST_GIVEN ? "the clock's" : updatedAt,
    expires: times.expiresAt !== undefined,
    expiresAt: undefined,
  };
}

/**
 * Runs random commands against two drivers side by side and asserts that both return the same: outcomes, error codes, messages
 * with their sequence numbers and times, metadata, the existing threads, equal revisions, the ends of pages.
 */
export async function compareDrivers(subject: Driver, reference: Driver, runs: number): Promise<void> {
  const commands = fc.array(command, { minLength: 1, maxLength: 30, size: "max" });
  const property = fc.asyncProperty(commands, fc.tuple(options, options), async (list, variants) => {
    const name = crypto.randomUUID();
    const threadIds = [`${name} 0`, `${name} 1`];
    const [mine, other] = [subject, reference].map((driver) => new Side(driver, threadIds, variants));
    if (!mine || !other) return;
    for (const [index, one] of list.entries()) {
      const expected = await other.run(one);
      const story = () =>
        `the last of\n${list
          .slice(0, index + 1)
          .map(tell)
          .join("\n")}\n`;
      expect(await mine.run(one), story()).toStrictEqual(expected);
    }
    expect(await mine.everything(), "at the end").toStrictEqual(await other.everything());
  });
  await checkProperty(property, runs);
}

export const model: Clause = {
  title: "Side by side with memory",
  declare(test) {
    test("random commands give what they give on the memory driver", async (backend) => {
      await compareDrivers(backend.driver, new MemoryDriver(), 60);
    });
  },
};
