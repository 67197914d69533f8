import { randomUUID } from "node:crypto";
import {
  envelope,
  type Listed,
  Lists,
  type Member,
  parseMetadata,
  type Snapshot,
  valueOf as valueOfEnvelope,
} from "@scrollback/collections";
import type { Change, Revision, StoreFactory } from "@scrollback/store-core";
import { reporter } from "@scrollback/store-core/internal";
import type { LogRegistration } from "../log/checkpoint-log.ts";
import { RETRIES, retried } from "../retried.ts";
import type { ThreadNames } from "./names.ts";

/** All threads have the same order in their list, so it sorts them by id. */
const ORDER = 0;

/** The longest time to an expiry, 36,500 days in milliseconds. */
const LONGEST_TTL = 36_500 * 24 * 60 * 60_000;

const owner = { package: "@scrollback/bridge-langgraph", kind: "LangGraph thread", isListed: true };

/** The metadata of a thread's registration. Its messages are the thread's namespaces. */
interface Head {
  readonly version: 1;
  /** Random, new for each creation. */
  readonly incarnation: string;
  /** The number of commits of this incarnation. */
  readonly writes: number;
  readonly listed: Listed;
}

function ignored(): void {}

/** The namespaces of a registration, each once. */
function distinct({ namespaces = [] }: Pick<Registered, "namespaces">): string[] {
  return [...new Set(namespaces)];
}

/** A registration at one revision. */
interface Registered extends Snapshot<true> {
  /**
   * In the order in which they were first written; one is there again for each time that its log was created. Undefined if only the head
   * was read.
   */
  readonly namespaces?: readonly string[];
}

/**
 * The existing LangGraph threads and their namespaces. A deletion finds all stored data of a thread, in any interleaving of
 * writers and deletions:
 *
 * 1. A writer registers a namespace before it creates the log, and changes the registration between the creation of the log
 *    and its first entry. The entry is committed only to the log that was created before that change.
 * 2. A deletion deletes the logs first, then the registration at the revision that it read before the logs. If the registration has
 *    changed, the deletion starts again.
 */
export class ThreadRegistry {
  readonly #stores: StoreFactory;
  readonly #names: ThreadNames;
  readonly #lists: Lists<true, Registered>;
  /** The last pending registration of each thread. */
  readonly #registering = new Map<string, Promise<void>>();

  /** @throws StoreError `UNSUPPORTED` for a backend without an index. */
  constructor(stores: StoreFactory, names: ThreadNames) {
    this.#stores = stores;
    this.#names = names;
    this.#lists = new Lists({ stores, onError: reporter(undefined) });
  }

  /** Registers a namespace of a thread, for the log of its checkpoints. */
  registration(threadId: string, namespace: string): LogRegistration {
    // A call of a subgraph has a namespace of its own: to register it must not cost more with each call before it.
    const member = this.#member(threadId, { isHeadOnly: true });
    const whole = this.#member(threadId);
    let added: Registered | undefined;
    return {
      add: (exists) =>
        this.#exclusively(threadId, async () => {
          added = await this.#add(exists ? whole : member, namespace);
        }),
      confirm: () =>
        this.#exclusively(threadId, () =>
          retried(async () => {
            const registered = added ?? (await this.#add(whole, namespace));
            added = undefined;
            return (await member.place(registered, registered.listed)).expiresAt;
          }),
        ),
      isDue: (expiry) => {
        const ttlMs = this.#ttlMs;
        if (expiry === undefined || ttlMs === undefined) return expiry !== ttlMs;
        return expiry < Date.now() + (ttlMs * 3) / 4;
      },
      renew: () =>
        this.#exclusively(threadId, () =>
          retried(async () => {
            const registered = await this.#add(whole, namespace);
            const placed = await this.#place(whole, registered, registered.listed, distinct(registered));
            await this.#lists.tell(whole, placed);
            return placed.expiresAt;
          }),
        ),
    };
  }

  /** The namespaces of a thread, in the order in which they were first written. Lists it again if the backend has lost its entry. */
  async namespaces(
    threadId: string,
    { isListed }: { readonly isListed: boolean },
  ): Promise<readonly string[]> {
    const member = this.#member(threadId);
    const found = await member.read();
    if (!found.listed) return [];
    if (!isListed) this.#lists.seen(member, found);
    return distinct(found);
  }

  /** The ids of all threads. */
  async *threads(): AsyncGenerator<string> {
    const memberOf = ({ key }: Pick<Member<true>, "key">) => this.#member(key);
    const index = this.#names.threads();
    for await (const { member } of this.#lists.iterate({ index, direction: "up", memberOf }))
      yield member.key;
  }

  /** Removes a thread after `removeNamespace` has removed all of its namespaces. */
  async remove(threadId: string, removeNamespace: (namespace: string) => Promise<void>): Promise<void> {
    await this.#lists.remove(this.#member(threadId), {
      ...RETRIES,
      clear: async (registered) => {
        if (registered === "unreadable" || !registered.namespaces) await this.#removeByName(threadId);
        else for (const namespace of distinct(registered)) await removeNamespace(namespace);
      },
    });
  }

  /**
   * Takes namespaces from the registration of a thread, those whose log does not exist. A writer that creates a log meanwhile finds the
   * registration changed when it confirms it, and registers the namespace again.
   *
   * @param logOf the name of the log of a namespace.
   */
  async unregister(
    threadId: string,
    namespaces: readonly string[],
    logOf: (namespace: string) => string,
  ): Promise<void> {
    const member = this.#member(threadId);
    await retried(async () => {
      const found = await member.read();
      if (!found.listed) return;
      const gone = new Set<string>();
      for (const namespace of namespaces) {
        const { revision } = await this.#stores.open(logOf(namespace)).read({ limit: 0 });
        if (revision === null) gone.add(namespace);
      }
      const rest = distinct(found).filter((namespace) => !gone.has(namespace));
      if (rest.length < (found.namespaces?.length ?? 0)) await this.#place(member, found, found.listed, rest);
    });
  }

  /** Returns when no background work is pending. */
  async flush(): Promise<void> {
    await this.#lists.flush();
  }

  /** Adds a namespace to the registration, unless it was read and has it. Returns the registration that has it. */
  async #add(member: Member<true, Registered>, namespace: string): Promise<Registered> {
    const { before, registered } = await retried(async () => {
      const found = await member.read();
      const before = found.listed && found;
      if (before?.namespaces?.includes(namespace)) return { before, registered: before };
      return { before, registered: await this.#write(member, before, found.revision, namespace) };
    });
    // The process that created the registration may have died before it told the list.
    if (!before || before.version === 1) await this.#lists.tell(member, registered);
    else this.#lists.seen(member, registered);
    return registered;
  }

  async #write(
    member: Member<true, Registered>,
    before: Registered | undefined,
    expectedRevision: Revision | null,
    namespace: string,
  ): Promise<Registered> {
    const { incarnation, version } = before ?? { incarnation: randomUUID(), version: 0 };
    const draft = { version: version + 1, order: ORDER, told: true as const };
    let expiresAt: number | undefined;
    const { listed, revision } = await this.#lists.write(
      member,
      before,
      member.bases,
      draft,
      async (places) => {
        const metadata: Head = { version: 1, incarnation, writes: draft.version, listed: places };
        const change = { append: [envelope("user", namespace)], metadata };
        const written = await this.#commit(member.threadId, before, change, expectedRevision);
        expiresAt = written.expiresAt;
        return written;
      },
    );
    return { ...draft, incarnation, listed, revision, expiresAt };
  }

  /** Deletes the logs of a thread whose registration cannot say its namespaces. */
  async #removeByName(threadId: string): Promise<void> {
    for await (const { threadId: name } of this.#stores.iterateThreads({
      prefix: this.#names.logs(threadId),
    }))
      await this.#stores.deleteThread(name);
  }

  /** Runs the registrations of one thread one after the other, so that those of one process do not conflict. */
  async #exclusively<T>(threadId: string, register: () => Promise<T>): Promise<T> {
    const before = this.#registering.get(threadId) ?? Promise.resolve();
    const done = before.then(register);
    const settled = done.then(ignored, ignored);
    this.#registering.set(threadId, settled);
    try {
      return await done;
    } finally {
      if (this.#registering.get(threadId) === settled) this.#registering.delete(threadId);
    }
  }

  /** The time of a registration that this process writes: longer than that of a log that was written before it was to be renewed. */
  get #ttlMs(): number | undefined {
    const { ttlMs } = this.#stores.settings;
    return ttlMs === undefined ? undefined : Math.min(2 * ttlMs, LONGEST_TTL);
  }

  /**
   * Commits a registration. Never brings its expiry forward: its other logs may have been written by services with a longer `ttlMs`,
   * or with none.
   */
  async #commit(
    name: string,
    before: Pick<Registered, "expiresAt"> | undefined,
    change: Change,
    expectedRevision: Revision | null,
  ): Promise<Pick<Registered, "revision" | "expiresAt">> {
    const own = this.#ttlMs;
    const now = Date.now();
    // A store with a time cannot commit without one.
    const earlier = before ? (before.expiresAt ?? now + LONGEST_TTL) - now : 0;
    const ttlMs = own === undefined ? undefined : Math.min(Math.max(own, Math.ceil(earlier)), LONGEST_TTL);
    const store = this.#stores.open(name, ttlMs === undefined ? {} : { ttlMs });
    const revision = String(await store.commit(change, { expectedRevision }));
    return { revision, expiresAt: ttlMs === undefined ? undefined : now + ttlMs };
  }

  /** @param namespaces in place of its own, if they are fewer. Default: its own stay. */
  async #place(
    { threadId }: Pick<Member<true, Registered>, "threadId">,
    registered: Registered,
    listed: Listed,
    namespaces?: readonly string[],
  ): Promise<Registered> {
    const { incarnation, revision: before } = registered;
    const version = registered.version + 1;
    const metadata: Head = { version: 1, incarnation, writes: version, listed };
    const isFewer = namespaces !== undefined && namespaces.length < (registered.namespaces?.length ?? 0);
    const names = isFewer && {
      drop: "all" as const,
      append: namespaces.map((namespace) => envelope("user", namespace)),
    };
    const written = await this.#commit(threadId, registered, { ...names, metadata }, before);
    return { ...registered, ...written, version, listed };
  }

  #member(threadId: string, { isHeadOnly = false } = {}): Member<true, Registered> {
    const store = this.#stores.open(this.#names.thread(threadId));
    return {
      ...{ threadId: store.threadId, key: threadId, bases: [this.#names.threads()] },
      async read(signal) {
        const { entries, revision, metadata, expiresAt } = await store.read({
          ...(signal && { signal }),
          ...(isHeadOnly && { limit: 0 }),
        });
        const head = parseMetadata<Head>(store.threadId, metadata, owner);
        if (!head || revision === null) return { revision };
        const { incarnation, writes: version, listed } = head;
        const registered = {
          incarnation,
          version,
          listed,
          order: ORDER,
          told: true as const,
          revision,
          expiresAt,
        };
        if (isHeadOnly) return registered;
        return {
          ...registered,
          namespaces: entries.map(({ message }) => valueOfEnvelope<string>(message)),
        };
      },
      place: async (registered, listed) => await this.#place(store, registered, listed),
    };
  }
}
