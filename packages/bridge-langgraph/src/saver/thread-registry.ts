import { envelope, nameOf, valueOf as valueOfEnvelope } from "@scrollback/collections";
import { type MessageStore, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { isText } from "@scrollback/store-core/internal";
import type { Expiry, LogRegistration } from "../log/checkpoint-log.ts";
import { retried } from "../retried.ts";

/** The longest time to an expiry, 36,500 days in milliseconds. */
const LONGEST_TTL = 36_500 * 24 * 60 * 60_000;

/** The metadata of a thread's registration. Its messages are the thread's namespaces, one again for each time that it was registered. */
interface Registered {
  readonly version: 1;
  readonly threadId: string;
}

/**
 * The names of a checkpointer's threads, see docs/how-to/bridge-langgraph.md, and the LangGraph threads that exist with their namespaces. A
 * deletion finds all stored data of a thread, in any interleaving of writers and deletions:
 *
 * 1. A writer registers a namespace before and after it creates the log, whose first message it commits only at the revision of the
 *    creation.
 * 2. A deletion deletes the logs first, then the registration at the revision that it read before the logs. If the registration has
 *    changed, the deletion starts again.
 */
export class ThreadRegistry {
  readonly #stores: StoreFactory;
  readonly #prefix: string;

  constructor(stores: StoreFactory, prefix: string) {
    this.#stores = stores;
    this.#prefix = nameOf(prefix);
  }

  /** The thread of the checkpoints of one namespace and their pending writes. */
  log(threadId: string, namespace: string): string {
    return `${this.#prefix}:log:${nameOf(threadId)}:${nameOf(namespace)}`;
  }

  /** Registers a namespace of a thread, for the log of its checkpoints. */
  registration(threadId: string, namespace: string): LogRegistration {
    return {
      register: () => this.#register(threadId, namespace),
      isDue: (expiry) => {
        const { ttlMs } = this.#stores.settings;
        if (expiry === undefined || ttlMs === undefined) return expiry !== ttlMs;
        // A log that is written now must not outlive it, nor one whose commit is repeated for a while.
        return expiry < Date.now() + (ttlMs * 5) / 4;
      },
    };
  }

  /** The namespaces of a thread, in the order in which they were first written. */
  async namespaces(threadId: string): Promise<readonly string[]> {
    return (await this.#read(threadId)).namespaces;
  }

  /** The ids of all threads. */
  async *threads(): AsyncGenerator<string> {
    const seen = new Set<string>();
    const prefix = `${this.#prefix}:thread:`;
    for await (const { threadId: name, metadata } of this.#stores.iterateThreads({ prefix })) {
      const { threadId } = Object(metadata) as Partial<Registered>;
      if (typeof threadId !== "string" || this.#name(threadId) !== name) throw unreadable(name);
      if (seen.has(threadId)) continue;
      seen.add(threadId);
      yield threadId;
    }
  }

  /** Removes a thread after `removeNamespace` has removed all of its namespaces. */
  async remove(threadId: string, removeNamespace: (namespace: string) => Promise<void>): Promise<void> {
    await retried(async () => {
      const { namespaces, revision } = await this.#read(threadId);
      for (const namespace of namespaces) await removeNamespace(namespace);
      await this.#stores.deleteThread(this.#name(threadId), { expectedRevision: revision });
    });
  }

  /**
   * Takes namespaces from the registration of a thread, those whose log does not exist. A writer that creates a log meanwhile registers
   * it after that, so that either it is registered or this call begins again.
   */
  async unregister(threadId: string, namespaces: readonly string[]): Promise<void> {
    await retried(async () => {
      const { namespaces: all, revision } = await this.#read(threadId);
      const gone = new Set<string>();
      for (const namespace of namespaces) {
        const log = await this.#stores.open(this.log(threadId, namespace)).read({ limit: 0 });
        if (log.revision === null) gone.add(namespace);
      }
      const rest = all.filter((namespace) => !gone.has(namespace));
      if (rest.length === all.length) return;
      const append = rest.map((one) => envelope("user", one));
      const { store } = await this.#renewed(threadId);
      await store.commit({ drop: "all", append }, { expectedRevision: revision });
    });
  }

  async #register(threadId: string, namespace: string): Promise<Expiry> {
    const metadata: Registered = { version: 1, threadId };
    return await retried(async () => {
      const { store, expiresAt, ...expected } = await this.#renewed(threadId);
      await store.commit({ append: [envelope("user", namespace)], metadata }, expected);
      return expiresAt;
    });
  }

  /**
   * A registration for a write. With a time it lives longer than a log that is written before it is to be renewed. Its expiry is never
   * brought forward: its other logs may have been written by services with a longer `ttlMs`, or with none.
   */
  async #renewed(threadId: string): Promise<{
    readonly store: MessageStore;
    readonly expiresAt: Expiry;
    /** At which its expiry was read. */
    readonly expectedRevision?: Revision | null;
  }> {
    const name = this.#name(threadId);
    const { ttlMs: own } = this.#stores.settings;
    if (own === undefined) return { store: this.#stores.open(name), expiresAt: undefined };
    const now = Date.now();
    const { revision, expiresAt = now + LONGEST_TTL } = await this.#stores.open(name).read({ limit: 0 });
    const earlier = revision === null ? 0 : Math.ceil(expiresAt - now);
    const ttlMs = Math.min(Math.max(2 * own, earlier), LONGEST_TTL);
    const store = this.#stores.open(name, { ttlMs });
    return { store, expiresAt: now + ttlMs, expectedRevision: revision };
  }

  async #read(threadId: string) {
    const name = this.#name(threadId);
    const { entries, revision } = await this.#stores.open(name).read();
    const namespaces = entries.map(({ message, sequence }) => {
      try {
        return valueOfEnvelope<string>(message, isText);
      } catch (cause) {
        throw unreadable(name, { sequence, cause });
      }
    });
    return { revision, namespaces: [...new Set(namespaces)] };
  }

  #name(threadId: string): string {
    return `${this.#prefix}:thread:${nameOf(threadId)}`;
  }
}

function unreadable(threadId: string, details: { sequence?: number; cause?: unknown } = {}): StoreError {
  return new StoreError("CORRUPT", `thread "${threadId}" is no registration of a LangGraph thread`, {
    threadId,
    ...details,
  });
}
