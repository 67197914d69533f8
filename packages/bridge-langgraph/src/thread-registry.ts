import {
  envelope,
  MarkedDirectories,
  parseMetadata,
  valueOf as valueOfEnvelope,
} from "@scrollback/collections";
import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import type { LogRegistration } from "./checkpoint-log.ts";
import type { ThreadNames } from "./names.ts";
import { retried } from "./retried.ts";

const PAGE = 1_000;
/** All threads have the same order value in the directory, so it sorts them by name. */
const ORDER = 0;

const owner = { package: "@scrollback/bridge-langgraph", kind: "LangGraph thread" };

/** The metadata of a thread's registration. */
interface Format {
  readonly version: 1;
  /** The directory was noted after this registration was created. */
  readonly isListed?: true;
}

const UNLISTED: Format = { version: 1 };
const LISTED: Format = { version: 1, isListed: true };

/**
 * The existing LangGraph threads and their namespaces. A deletion finds all stored data of a thread, in any interleaving of
 * writers and deletions:
 *
 * 1. A writer registers a namespace before it creates the log, and changes the registration between the creation of the log
 *    and its first entry. The entry is committed only to the log that was created before that change.
 * 2. A deletion deletes the logs first, then the registration at the revision that it read before the logs, then the thread's
 *    entry in the directory. If the registration has changed, or exists again at the end, the deletion starts again.
 * 3. A writer notes the thread in the directory after it has written the registration.
 * 4. A deletion changes a log before it deletes the attachments that the log names, and deletes the log after them.
 * 5. A writer of attachments first names them in the log, and reads the log again afterwards. If their name is gone, the writer
 *    adds it again.
 */
export class ThreadRegistry {
  readonly #stores: StoreFactory;
  readonly #names: ThreadNames;
  readonly #directories: MarkedDirectories<true>;
  /** The last pending registration of each thread. */
  readonly #registering = new Map<string, Promise<void>>();

  constructor(stores: StoreFactory, names: ThreadNames) {
    this.#stores = stores;
    this.#names = names;
    this.#directories = new MarkedDirectories({ stores, leafThread: (id) => names.leaf(id) });
  }

  /** Registers a namespace of a thread, for the log of its checkpoints. */
  registration(threadId: string, namespace: string): LogRegistration {
    let added: Revision | undefined;
    return {
      add: () =>
        this.#exclusively(threadId, async () => {
          added = await this.#add(threadId, namespace);
        }),
      confirm: () =>
        this.#exclusively(threadId, async () => {
          await retried(async () => {
            const expectedRevision = added ?? (await this.#add(threadId, namespace));
            added = undefined;
            const store = this.#stores.open(this.#names.thread(threadId));
            await store.commit({ metadata: LISTED }, { expectedRevision });
          });
        }),
    };
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
        // Members are noted in one message each, so lists never need to read them.
        read: async () => undefined,
      });
      for (const { key } of page.entries) if (key[0] !== undefined) yield key[0];
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  /** Removes a thread after `removeNamespace` has removed all of its namespaces. */
  async remove(
    threadId: string,
    removeNamespace: (namespace: string) => Promise<void>,
    deleteThread: (threadId: string, revision: Revision) => Promise<void>,
  ): Promise<void> {
    await retried(async () => {
      const { namespaces, revision } = await this.#read(threadId);
      for (const namespace of namespaces) await removeNamespace(namespace);
      if (revision !== null) await deleteThread(this.#names.thread(threadId), revision);
      await this.#directories.purge(this.#names.threads(), { key: [threadId], order: ORDER });
      const { revision: current } = await this.#read(threadId);
      if (current !== null)
        throw new StoreError("CONFLICT", "deleteThread: the thread is written to; repeat");
    });
  }

  /** Returns when no background work is pending. */
  async flush(): Promise<void> {
    await this.#directories.flush();
  }

  /** Notes a namespace and lists its thread if necessary. Returns the revision at which both were true. */
  async #add(threadId: string, namespace: string): Promise<Revision> {
    return await retried(async () => {
      const { namespaces, revision, isListed } = await this.#read(threadId);
      const isNew = revision === null;
      const append = namespaces.includes(namespace) ? [] : [envelope("user", namespace)];
      const store = this.#stores.open(this.#names.thread(threadId));
      const added =
        append.length === 0
          ? revision
          : await store.commit(
              { append, ...(isNew && { metadata: UNLISTED }) },
              { expectedRevision: revision },
            );
      if (!isListed) {
        const entry = { order: ORDER, was: ORDER, value: true } as const;
        await this.#directories.note(this.#names.threads(), [threadId], entry);
      }
      return String(added);
    });
  }

  /** Runs the registrations of one thread one after the other, so that those of one process do not conflict. */
  async #exclusively(threadId: string, register: () => Promise<void>): Promise<void> {
    const before = this.#registering.get(threadId) ?? Promise.resolve();
    const done = before.then(register);
    const settled = done.catch(() => undefined);
    this.#registering.set(threadId, settled);
    try {
      await done;
    } finally {
      if (this.#registering.get(threadId) === settled) this.#registering.delete(threadId);
    }
  }

  async #read(
    threadId: string,
  ): Promise<{ namespaces: string[]; revision: Revision | null; isListed: boolean }> {
    const store = this.#stores.open(this.#names.thread(threadId));
    const { entries, revision, metadata } = await store.read();
    const format = parseMetadata<Format>(store.threadId, metadata, owner);
    const namespaces = entries.map(({ message }) => valueOfEnvelope<string>(message));
    return { namespaces: [...new Set(namespaces)], revision, isListed: format?.isListed === true };
  }
}
