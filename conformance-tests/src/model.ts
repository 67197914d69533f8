import { inspect } from "node:util";
import {
  type ChatMessage,
  createStores,
  type Driver,
  type MessageStore,
  StoreError,
  type StoreOptions,
} from "@scrollback/store-core";
import fc from "fast-check";
import { expect } from "vitest";
import { checkProperty } from "./property.ts";
import { history } from "./trimming-examples.ts";

/** Numbers pick from what a side has given so far, so that both sides pick the same: revisions, cursors. */
interface Command {
  readonly kind: "add" | "commit" | "replace" | "clear" | "pop" | "list" | "read";
  /** Which of two threads, and which of two stores of it, each with options of its own. */
  readonly thread: 0 | 1;
  readonly store: 0 | 1;
  /** Messages in short, see {@link history}. */
  readonly append: string;
  readonly drop: number | "all";
  readonly metadata: unknown;
  readonly operation: number | undefined;
  readonly expected: "any" | "current" | "gone" | number;
  readonly limit: number | undefined;
  readonly cursor: { readonly side: "before" | "after"; readonly pick: number } | undefined;
}

/** What a command gave: plain data in which revisions are numbered by their first appearance. */
type Outcome = { readonly code: string } | { readonly value: unknown };

const often = <T>(value: T, other: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: other });

const command: fc.Arbitrary<Command> = fc.record<Command>({
  kind: fc.constantFrom("add", "add", "commit", "commit", "replace", "clear", "pop", "list", "read", "read"),
  thread: often<0 | 1>(0, fc.constant(1)),
  store: fc.constantFrom(0, 1),
  append: fc.string({ unit: fc.constantFrom(..."suuaactrp"), maxLength: 5 }),
  drop: often<number | "all">(0, fc.constantFrom<number | "all">(1, 2, 3, 9, "all")),
  metadata: often<unknown>(undefined, fc.constantFrom(null, 0, { a: undefined }, new Map([["a.b", 1n]]))),
  operation: often<number | undefined>(undefined, fc.nat(3)),
  expected: often<Command["expected"]>("any", fc.oneof(fc.constantFrom("current", "gone"), fc.nat(20))),
  limit: often<number | undefined>(undefined, fc.nat(4)),
  cursor: fc.option(fc.record({ side: fc.constantFrom("before", "after"), pick: fc.nat(20) }), {
    nil: undefined,
  }),
});

const options: fc.Arbitrary<StoreOptions> = fc.oneof(
  fc.constant({}),
  fc.record({ maxMessages: fc.integer({ min: 1, max: 6 }), trimming: fc.constantFrom("turns", "exact") }),
);

/** A command as a line for people. */
function tell({ kind, thread, store, ...details }: Command): string {
  const set = Object.entries(details).filter(
    ([, value]) => value !== undefined && value !== "" && value !== 0,
  );
  const shown = set.map(([name, value]) => `${name} ${inspect(value)}`).join(", ");
  return `  ${kind} on thread ${thread}, store ${store}${shown && `: ${shown}`}`;
}

/** One of the two that are compared, with all that it has given so far. */
class Side {
  readonly #stores: readonly (readonly MessageStore[])[];
  readonly #revisions: (string | null)[] = [];
  readonly #cursors: string[] = [];

  constructor(driver: Driver, threadIds: readonly string[], variants: readonly StoreOptions[]) {
    this.#stores = threadIds.map((id) => variants.map((variant) => createStores(driver, variant).open(id)));
  }

  async run(command: Command): Promise<Outcome> {
    const store = this.#stores[command.thread]?.[command.store];
    if (!store) throw new Error("there is no such store");
    try {
      return { value: await this.#do(store, command) };
    } catch (error) {
      if (!StoreError.is(error)) throw error;
      return { code: error.code };
    }
  }

  /** The whole of every thread, as each store sees it. */
  async everything(): Promise<unknown> {
    const found: unknown[] = [];
    // One after the other: revisions are numbered in the order in which they are seen.
    for (const store of this.#stores.flat()) found.push(await this.#read(store, {}));
    return found;
  }

  async #do(store: MessageStore, command: Command): Promise<unknown> {
    const { kind, drop, metadata, limit, cursor } = command;
    // Few contents, so that an operation id may come again with the same change.
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
    }
  }

  async #writeOptions(store: MessageStore, { operation, expected }: Command) {
    let expectedRevision: string | null | undefined;
    if (expected === "gone") expectedRevision = null;
    else if (expected === "current") expectedRevision = (await store.read({ limit: 0 })).revision;
    else if (expected !== "any") expectedRevision = this.#revisions[expected % this.#revisions.length];
    return {
      ...(operation !== undefined && { operationId: `operation ${operation}` }),
      ...(expectedRevision !== undefined && { expectedRevision }),
    };
  }

  async #read(store: MessageStore, options: object): Promise<unknown> {
    const { revision, older, newer, ...page } = await store.read(options);
    for (const cursor of [older, newer]) if (cursor !== undefined) this.#cursors.push(cursor);
    const cursors = [older !== undefined && "older", newer !== undefined && "newer"];
    return { ...page, revision: this.#numberOf(revision), cursors };
  }

  #numberOf(revision: string | null): number {
    const known = this.#revisions.indexOf(revision);
    return known >= 0 ? known : this.#revisions.push(revision) - 1;
  }
}

/**
 * Runs random commands against two drivers side by side and asserts that each gives the same: outcomes, error codes,
 * messages with their sequence numbers, metadata, which revisions are the same, where pages end.
 */
export async function compareDrivers(subject: Driver, reference: Driver, runs: number): Promise<void> {
  const commands = fc.array(command, { minLength: 1, maxLength: 30, size: "max" });
  const property = fc.asyncProperty(commands, fc.tuple(options, options), async (list, variants) => {
    const threadIds = [crypto.randomUUID(), crypto.randomUUID()];
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
    expect(await mine.everything(), "in the end").toStrictEqual(await other.everything());
  });
  await checkProperty(property, runs);
}
