import {
  envelope,
  MarkedDirectories,
  parseMetadata,
  valueOf as valueOfEnvelope,
} from "@scrollback/collections";
import { pause, type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { ThreadNames } from "./names.ts";

const MAX_ATTEMPTS = 20;
const PAGE = 1_000;
/** All threads have one place in the order of the directory, so it sorts them by name. */
const ORDER = 0;

const owner = { package: "@scrollback/bridge-langgraph", kind: "LangGraph thread" };

/** Which LangGraph threads there are, and their namespaces. */
export class ThreadRegistry {
  readonly #stores: StoreFactory;
  readonly #names: ThreadNames;
  readonly #directories: MarkedDirectories<true>;

  constructor(stores: StoreFactory, names: ThreadNames) {
    this.#stores = stores;
    this.#names = names;
    this.#directories = new MarkedDirectories({ stores, leafThread: (id) => names.leaf(id) });
  }

  /** Notes a namespace before anything is written to it, so that its content can be found and deleted even after a crash. */
  async add(threadId: string, namespace: string): Promise<void> {
    const { namespaces, revision } = await this.#read(threadId);
    if (revision === null) {
      const entry = { order: ORDER, was: ORDER, value: true } as const;
      await this.#directories.note(this.#names.threads(), [threadId], entry);
    }
    if (namespaces.includes(namespace)) return;
    await this.#stores
      .open(this.#names.thread(threadId))
      .commit(
        { append: [envelope("user", namespace)], ...(revision === null && { metadata: { version: 1 } }) },
        { expectedRevision: revision },
      );
  }

  /** The namespaces of a thread, in the order in which they were first written. */
  async namespaces(threadId: string): Promise<string[]> {
    return (await this.#read(threadId)).namespaces;
  }

  /** The ids of all threads. */
  async *threads(): AsyncGenerator<string> {
    let pageToken: string | undefined;
    do {
      const page = await this.#directories.page(this.#names.threads(), {
        limit: PAGE,
        pageToken,
        // Members are noted in one message each, so lists never have to look at them.
        read: async () => undefined,
      });
      for (const { key } of page.entries) if (key[0] !== undefined) yield key[0];
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  /** Removes a thread, once `removeNamespace` has removed all of its namespaces. */
  async remove(
    threadId: string,
    removeNamespace: (namespace: string) => Promise<void>,
    deleteThread: (threadId: string, revision: Revision) => Promise<void>,
  ): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const { namespaces, revision } = await this.#read(threadId);
      for (const namespace of namespaces) await removeNamespace(namespace);
      try {
        if (revision !== null) await deleteThread(this.#names.thread(threadId), revision);
        await this.#directories.purge(this.#names.threads(), { key: [threadId], order: ORDER });
        return;
      } catch (error) {
        // A namespace was added meanwhile.
        if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
      }
      await pause(Math.min(attempt, 3));
    }
  }

  /** Returns when nothing is under way in the background. */
  async flush(): Promise<void> {
    await this.#directories.flush();
  }

  async #read(threadId: string): Promise<{ namespaces: string[]; revision: Revision | null }> {
    const store = this.#stores.open(this.#names.thread(threadId));
    const { entries, revision, metadata } = await store.read();
    parseMetadata(store.threadId, metadata, owner);
    const namespaces = entries.map(({ message }) => valueOfEnvelope<string>(message));
    return { namespaces: [...new Set(namespaces)], revision };
  }
}
