import {
  type IndexEntry,
  type Revision,
  StoreError,
  type StoreFactory,
  type StoreIndex,
} from "@scrollback/store-core";
import { type Clock, retry, systemClock } from "@scrollback/store-core/internal";
import { Entries } from "./entries.ts";
import {
  CLOSING,
  type Draft,
  entryValueOf,
  isNamed,
  type Listed,
  type Member,
  type Names,
  OPEN,
  placesOf,
  SEALED,
  type Snapshot,
  unnamedOf,
} from "./listed.ts";
import { Parts } from "./parts.ts";
import { concernsAll, ifReadable, namesIn, type RemoveOptions, removeThread } from "./removal.ts";
import type { ListItem, ListPage, ListRequest } from "./requests.ts";
import { Telling } from "./telling.ts";

/** The maximum number of entries of one request, and of one page: with a filter of all, otherwise of those that are not shown. */
const MAX_REQUEST = 100;
const MAX_PASSED = 500;
const DELETED_AT_ONCE = 8;
/** The errors of a commit that was not made. */
const REFUSALS: readonly string[] = ["CONFLICT", "INVALID_ARGUMENT", "TOO_LARGE"];

type ListClock = Pick<Clock, "wall" | "sleep" | "timer">;

/** Options of {@link Lists}. */
export interface ListsOptions {
  readonly stores: StoreFactory;
  /** For tests. Default: that of this process. */
  readonly clock?: ListClock;
  /** Called with errors of background work. */
  readonly onError: (error: unknown) => void;
}

/**
 * Sorted lists of threads, on the index of the database. A thread's head names the entries that list it, by ids that are used once:
 * an entry is inserted before the commit that names it, and removed only after the thread is deleted or its head names another.
 * So no late request does harm, and no clock decides what is true.
 *
 * Every thread that was created and not deleted is on a page. A list reads the head where an entry does not say enough: during a
 * creation or a deletion, and where the layer asks for it.
 */
export class Lists<T, S extends Snapshot<T> = Snapshot<T>> {
  readonly #stores: StoreFactory;
  readonly #clock: ListClock;
  readonly #entries: Entries<T>;
  readonly #telling: Telling<T, S>;

  /** Does no I/O. @throws StoreError `UNSUPPORTED` if the backend has no index. */
  constructor({ stores, clock = systemClock, onError }: ListsOptions) {
    stores.index("any");
    this.#stores = stores;
    this.#clock = clock;
    this.#entries = new Entries({ stores, wall: clock.wall });
    this.#telling = new Telling(this.#entries, clock, onError);
  }

  /**
   * Commits a thread that is in the lists of `indexes` from then on. Afterwards call {@link Lists.tell} or {@link Lists.tellSoon}.
   *
   * @param before the thread at the revision at which `commit` writes; undefined for a new one.
   * @param commit commits the head with these places. Of its errors `CONFLICT`, `INVALID_ARGUMENT` and `TOO_LARGE` say that nothing was
   *   written.
   * @throws StoreError `TOO_LARGE` before any I/O if the names, and where the thread is listed, do not fit an entry.
   */
  async write<R extends { readonly revision: Revision }>(
    member: Member<T, S>,
    before: Pick<Snapshot<T>, "listed"> | undefined,
    indexes: readonly string[],
    draft: Draft<T>,
    commit: (listed: Listed) => Promise<R>,
  ): Promise<R & { readonly listed: Listed; readonly expiresAt?: number }> {
    const { in: current = {}, left } = before?.listed ?? {};
    const kept = Object.fromEntries(Object.entries(current).filter(([index]) => indexes.includes(index)));
    const dropped = Object.fromEntries(Object.entries(current).filter(([index]) => !indexes.includes(index)));
    const isDropped = Object.keys(dropped).length > 0;
    const added = indexes.filter((index) => !(index in kept));
    const to = (made: Listed["in"]): Listed => ({
      key: member.key,
      ...(member.names && { names: member.names }),
      order: draft.order,
      in: { ...kept, ...made },
      ...(isDropped && { left: dropped }),
    });
    this.#entries.assertFits(member, to(Object.fromEntries(added.map((index) => [index, "x".repeat(12)]))));
    // Only a head names what was left: it is removed before the next one. By then the thread must be in its new lists.
    if (left) {
      const newest = await member.read();
      if (newest.listed) await this.#telling.now(member, newest);
    }
    const made = added.length === 0 ? {} : await this.#open(member, added, to({}));
    const listed = to(made);
    try {
      const { ttlMs } = this.#stores.settings;
      const written = await commit(listed);
      return { ...written, listed, ...(ttlMs !== undefined && { expiresAt: this.#clock.wall() + ttlMs }) };
    } catch (error) {
      if (StoreError.is(error) && REFUSALS.includes(error.code))
        await this.#entries.remove(member, placesOf({ in: made }));
      throw error;
    }
  }

  /** Inserts entries. An insert of which the outcome is unknown is never repeated: entries with other ids take their place, once. */
  async #open(member: Member<T, S>, indexes: readonly string[], listed: Listed): Promise<Listed["in"]> {
    return await retry(() => this.#entries.open(member, indexes, listed), {
      attempts: 2,
      isRetryable: (error) => StoreError.is(error) && error.retryable,
      clock: this.#clock,
    });
  }

  /** Tells the entries of a thread what its head says. @throws what a request throws; it is then repeated within a second. */
  async tell(member: Member<T, S>, snapshot: S): Promise<void> {
    await this.#telling.now(member, snapshot);
  }

  /** Does the same, after a move to other lists if it is not in these. Another writer that is first does both itself. */
  async place(member: Member<T, S>, snapshot: S, indexes: readonly string[]): Promise<void> {
    const current = Object.keys(snapshot.listed.in);
    if (current.length === indexes.length && indexes.every((index) => current.includes(index)))
      return await this.tell(member, snapshot);
    try {
      const draft = { ...snapshot, version: snapshot.version + 1 };
      const placed = await this.write(member, snapshot, indexes, draft, (listed) =>
        member.place(snapshot, listed),
      );
      await this.tell(member, placed);
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
  }

  /** Does the same within a second. A list of this process does it first. */
  tellSoon(member: Member<T, S>, snapshot: S): void {
    this.#telling.soon(member, snapshot);
  }

  /** Does the same for a thread that was read, once a process. */
  seen(member: Member<T, S>, snapshot: S): void {
    this.#telling.seen(member, snapshot);
  }

  /** Returns when the entries say what this process has written. @throws the first error; what failed is repeated. */
  async flush(): Promise<void> {
    await this.#telling.flush();
  }

  /** Deletes a thread, readable or not, and its entries. See {@link removeThread}. */
  async remove(member: Member<T, S>, options: RemoveOptions<S> = {}): Promise<S | undefined> {
    const removed = await removeThread(this.#stores, this.#entries, member, {
      clock: this.#clock,
      ...options,
    });
    if (!options.isMeant || removed) this.#telling.forget(member);
    return removed;
  }

  /**
   * Removes all threads that are in indexes when it is called, readable or not. Those that are created meanwhile stay.
   *
   * @throws the error of the first thread that cannot be deleted, after the others are; at once an outage.
   */
  async removeAll(
    indexes: readonly string[],
    remove: (names: Names) => Promise<void>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const waiting = (await namesIn(this.#stores, indexes, signal)).values();
    const failures: unknown[] = [];
    const removeNext = async () => {
      for (const names of waiting) {
        signal?.throwIfAborted();
        try {
          await remove(names);
        } catch (error) {
          if (concernsAll(error)) throw error;
          failures.push(error);
        }
        // A store in this process, such as SQLite, never waits for I/O. Without this pause no other event would be processed.
        await this.#clock.sleep(0);
      }
    };
    await Promise.all(Array.from({ length: DELETED_AT_ONCE }, removeNext));
    if (failures.length > 0) throw failures[0];
  }

  /** Returns one page of a list. */
  async page(request: ListRequest<T, S>): Promise<ListPage<T, S>> {
    const { index: name, direction, limit, filter, signal } = request;
    await this.#telling.flush().catch(() => undefined);
    const index = this.#stores.index(name);
    const items: ListItem<T, S>[] = [];
    let { cursor } = request;
    let passed = 0;
    do {
      const wanted = filter ? MAX_REQUEST : Math.min(MAX_REQUEST, limit - items.length);
      const page = await index.list({
        ...{ direction, limit: wanted },
        ...(cursor !== undefined && { cursor }),
        ...(signal && { signal }),
      });
      const shown = await Promise.all(page.entries.map((entry) => this.#item(request, entry)));
      cursor = page.cursor;
      passed += page.entries.length;
      for (const [at, item] of shown.entries()) {
        if (!item || (item.told !== undefined && filter?.(item.told) === false)) continue;
        items.push(item);
        const entry = page.entries[at];
        if (items.length === limit && entry && at < shown.length - 1)
          return { items, cursor: index.cursorAfter(entry, direction) };
      }
    } while (
      cursor !== undefined &&
      items.length < limit &&
      (filter ? passed : passed - items.length) < MAX_PASSED
    );
    return { items, ...(cursor !== undefined && { cursor }) };
  }

  /**
   * The threads of a list whose entries are nearest to a vector, best first, as {@link StoreIndex.nearest} returns them.
   *
   * @returns `version`: of the entry. If it is lower than that of the head, it was found by what the head said before.
   * @throws StoreError `UNSUPPORTED` if the index has no vectors.
   */
  async nearest(
    request: Pick<ListRequest<T, S>, "index" | "memberOf">,
    ...search: Parameters<StoreIndex["nearest"]>
  ): Promise<{ readonly items: readonly ListItem<T, S>[]; readonly entries: number }> {
    await this.#telling.flush().catch(() => undefined);
    const found = await this.#stores.index(request.index).nearest(...search);
    const items = await Promise.all(
      found.map(async (entry) => {
        const item = await this.#item(request, entry);
        return item ? [{ ...item, score: entry.score, version: entry.version }] : [];
      }),
    );
    return { items: items.flat(), entries: found.length };
  }

  /** Iterates over all threads of a list. */
  async *iterate(request: Omit<ListRequest<T, S>, "limit" | "cursor">): AsyncGenerator<ListItem<T, S>> {
    for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
      const page = await this.page({ ...request, limit: MAX_REQUEST, cursor });
      yield* page.items;
      cursor = page.cursor;
    }
  }

  /** The thread of an entry; undefined if it is not in the list. */
  async #item(
    request: Pick<ListRequest<T, S>, "index" | "memberOf" | "isTold" | "readsAll" | "signal">,
    entry: IndexEntry,
  ): Promise<ListItem<T, S> | undefined> {
    const { index, signal } = request;
    const { version, key, id, order } = entry;
    const value = entryValueOf<T>(entry.value);
    const member = request.memberOf({ key, names: value?.listed.names });
    const told = value?.told;
    const isEnough =
      version !== OPEN &&
      version < SEALED &&
      told !== undefined &&
      (request.isTold?.(told) ?? true) &&
      !value?.isDoubtful &&
      !(value?.until !== undefined && value.until <= this.#clock.wall());
    if (isEnough && !request.readsAll) return { member, told, order };
    const snapshot = await ifReadable(member.read(signal));
    if (snapshot === "unreadable") return { member, told, order, snapshot };
    if (!isNamed(snapshot, index, id) || !snapshot.listed) {
      // An open entry may belong to a creation that is under way. The others go with those that they name, which no deletion would find.
      if (version !== OPEN && version !== SEALED) {
        if (version === CLOSING && member.parts)
          await new Parts(this.#stores).sweep(member.threadId, { signal });
        await (snapshot.revision === null ? member.release?.(signal) : member.sweep?.(signal));
        const places = placesOf(value?.listed ?? { in: { [index]: id } });
        await this.#entries.remove(member, unnamedOf(places, snapshot));
      }
      return undefined;
    }
    if (version < SEALED && version < snapshot.version) this.#telling.soon(member, snapshot);
    return { member, told: snapshot.told, order: snapshot.order, snapshot };
  }
}
