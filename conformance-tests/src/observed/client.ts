import { setTimeout as sleep } from "node:timers/promises";
import { type MessageStore, StoreError, type StoreFactory } from "@scrollback/store-core";
import {
  type Action,
  LARGE,
  messageOf,
  type ObservationLog,
  type ObservedChange,
  type ObservedThread,
  type Outcome,
  textOf,
} from "./observation.ts";
import { Random } from "./random.ts";

// Also runs in another process, so Vitest must not be imported here.

/** Error codes after which the outcome of a commit is unknown. */
const OPEN_CODES: readonly string[] = ["UNAVAILABLE", "ABORTED", "CLOSED"];

export interface ClientTask {
  readonly threads: readonly ObservedThread[];
  readonly seed: string;
  /** The longest pause between two calls, in milliseconds. */
  readonly pauseMs: number;
  /** Whether the clients only append and read, so that every acknowledged message stays. */
  readonly isAppending?: boolean;
}

/**
 * One client that writes, reads, pops, clears and sets metadata as drawn from its seed. Each call and its outcome is written to the
 * log.
 */
export class ObservedClient {
  readonly #name: string;
  readonly #task: ClientTask;
  readonly #log: ObservationLog;
  readonly #random: Random;
  readonly #stores = new Map<string, MessageStore>();
  readonly #seen = new Map<string, string | null>();
  readonly #backend: string;
  readonly #factory: StoreFactory;
  #commits = 0;
  /** The number of its commits that were acknowledged. */
  acknowledged = 0;

  constructor(factory: StoreFactory, name: string, task: ClientTask, log: ObservationLog) {
    this.#factory = factory;
    this.#name = name;
    this.#task = task;
    this.#log = log;
    this.#random = new Random(`${task.seed}/${name}`);
    this.#backend = factory.settings.backend;
  }

  /** @param isOver is given the number of its actions so far. */
  async run(isOver: (actions: number) => boolean): Promise<void> {
    for (let actions = 0; !isOver(actions); actions++) {
      const thread = this.#random.pick(...(this.#task.threads as [ObservedThread, ...ObservedThread[]]));
      await this.#step(thread);
      await sleep(this.#random.next() * this.#task.pauseMs);
    }
  }

  /** Reads a whole thread. */
  async look(thread: ObservedThread): Promise<void> {
    await this.#do(thread, { kind: "read" });
  }

  async #step(thread: ObservedThread): Promise<void> {
    const random = this.#random;
    if (this.#task.isAppending)
      return void (random.chance(0.5) ? await this.look(thread) : await this.#commit(thread));
    const limit = random.chance(0.4) ? { limit: random.below(6) } : {};
    const choice = random.next();
    if (choice < 0.3) await this.#do(thread, { kind: "read", ...limit });
    // These outcomes have no revision. If threads expire, several unobserved revisions may have passed.
    else if (choice < 0.36 && thread.ttlMs === undefined) await this.#do(thread, { kind: "list", ...limit });
    else if (choice < 0.46 && thread.ttlMs === undefined) await this.#do(thread, { kind: "pop" });
    else await this.#commit(thread);
  }

  async #commit(thread: ObservedThread): Promise<void> {
    const random = this.#random;
    const operationId = `${this.#name}.${++this.#commits}`;
    const expected =
      !this.#task.isAppending && random.chance(0.25)
        ? { expected: this.#seen.get(thread.threadId) ?? null }
        : {};
    const commit = { kind: "commit", operationId, change: this.#change(operationId), ...expected } as const;
    let outcome = await this.#do(thread, commit);
    // Changes with an unknown outcome are sent again, as callers should do; sometimes also changes that succeeded.
    for (let again = 0; again < 2 && random.chance(outcome.kind === "unknown" ? 0.7 : 0.04); again++) {
      outcome = await this.#do(thread, commit);
    }
    if (outcome.kind === "committed") this.acknowledged += 1;
    if (outcome.kind === "committed" && random.chance(0.03)) {
      await this.#do(thread, { ...commit, change: { drop: 0, append: [`u${operationId}.other`] } });
    }
  }

  #change(operationId: string): ObservedChange {
    const random = this.#random;
    const text = (index: number) =>
      `${random.pick("u", "u", "u", "u", "a", "a", "a", "t", "s")}${operationId}.${index}${random.chance(0.01) ? LARGE : ""}`;
    const append = (most: number) =>
      Array.from({ length: 1 + random.below(most) }, (_, index) => text(index));
    const metadata = random.chance(0.25)
      ? { metadata: random.chance(0.2) ? null : `metadata ${operationId}` }
      : {};
    const choice = this.#task.isAppending ? 0 : random.next();
    if (choice < 0.7) return { drop: 0, append: append(3), ...metadata };
    if (choice < 0.82) return { drop: 1 + random.below(3), append: append(2), ...metadata };
    if (choice < 0.9) return { drop: 1 + random.below(2), append: [], ...metadata };
    if (choice < 0.94) return { drop: "all", append: append(3) };
    if (choice < 0.97) return { drop: "all", append: [], metadata: null };
    return { drop: 0, append: [], metadata: `metadata ${operationId}` };
  }

  async #do(thread: ObservedThread, action: Action): Promise<Outcome> {
    const store = this.#storeOf(thread);
    const signal = this.#random.chance(0.03)
      ? { signal: AbortSignal.timeout(1 + this.#random.below(30)) }
      : {};
    const outcome = await this.#log.observe(this.#name, thread.threadId, action, async () => {
      try {
        return await call(store, action, signal);
      } catch (error) {
        if (!StoreError.is(error)) return { kind: "refused", code: `not a StoreError: ${String(error)}` };
        const { code, retryable } = error;
        return OPEN_CODES.includes(code) ? { kind: "unknown", code, retryable } : { kind: "refused", code };
      }
    });
    if ("revision" in outcome) this.#seen.set(thread.threadId, outcome.revision);
    return outcome;
  }

  #storeOf({ threadId, ...settings }: ObservedThread): MessageStore {
    const known = this.#stores.get(threadId);
    if (known) return known;
    const state = { type: "scrollback.store", version: 1, backend: this.#backend, threadId, ...settings };
    const store = this.#factory.restore(state);
    this.#stores.set(threadId, store);
    return store;
  }
}

async function call(
  store: MessageStore,
  action: Action,
  options: { signal?: AbortSignal },
): Promise<Outcome> {
  switch (action.kind) {
    case "commit": {
      const { operationId, expected, change } = action;
      const { drop, metadata } = change;
      const append = change.append.map(messageOf);
      const how = {
        operationId,
        ...options,
        ...(expected !== undefined && { expectedRevision: expected }),
      };
      return { kind: "committed", revision: await store.commit({ drop, append, metadata }, how) };
    }
    case "pop": {
      const message = await store.popMessage(options);
      return { kind: "popped", text: message ? textOf(message) : null };
    }
    case "read": {
      const page = await store.read({ ...limitOf(action), ...options });
      return {
        kind: "page",
        revision: page.revision,
        entries: page.entries.map(({ sequence, message }) => [sequence, textOf(message)] as const),
        metadata: page.metadata === undefined ? null : String(page.metadata),
        older: page.older !== undefined,
      };
    }
    case "list":
      return {
        kind: "texts",
        texts: (await store.listMessages({ ...limitOf(action), ...options })).map(textOf),
      };
  }
}

function limitOf({ limit }: { readonly limit?: number }): { limit?: number } {
  return limit === undefined ? {} : { limit };
}
