import { type Revision, StoreError, type StoreFactory } from "@scrollback/store-core";
import { type Clock, isSame, RecentMap, retry } from "@scrollback/store-core/internal";
import type { Stamps } from "../clock.ts";
import { refresh, show } from "../read/live-session.ts";
import {
  type ListedSession,
  memberOf,
  type SessionLists,
  type SessionMember,
  writeHead,
} from "../read/session-lists.ts";
import {
  explained,
  type Head,
  messageOf,
  missing,
  nextHead,
  parseLocation,
  readSession,
  type SessionView,
  storable,
  writeFor,
} from "../read/session-thread.ts";
import { CACHE_SIZE, WRITE_RETRIES } from "../retries.ts";
import type { Session, SessionEvent, SessionKey } from "../session.ts";
import { copyOf, type Scopes, splitScopes } from "../state/scopes.ts";
import type { SharedPair, SharedStates } from "../state/shared-state.ts";
import { threads } from "../threads.ts";

/** The number of newest events that are searched for an event that may already be appended. */
const LOOKED_THROUGH = 64;

/** Thrown if another write was first. The other conflicts of an append are those of its caller. */
class Lost extends Error {}

/** The dependencies of an {@link Appender}. */
export interface AppenderParts {
  readonly stores: StoreFactory;
  readonly shared: SharedStates;
  readonly lists: SessionLists;
  readonly clock: Clock;
  readonly stamps: Stamps;
  readonly staleWriter: "reject" | "reload";
  readonly usedEventId: "refuse" | "replace";
}

interface KnownHead {
  readonly revision: Revision;
  readonly head: Head;
}

/** The state that an event is appended to. */
interface Ground extends KnownHead {
  /** The event that it replaces, and the events after that one; empty for a new event. */
  readonly replaced: readonly SessionEvent[];
}

/** A running append. */
interface Append {
  readonly key: SessionKey;
  readonly member: SessionMember;
  readonly session: Session;
  readonly event: SessionEvent;
  readonly stored: SessionEvent;
  /** The values that the event sets, as stored. */
  readonly delta: Scopes;
}

/**
 * Appends events: one commit to the session's thread, then one each to the threads of the app and the user if the event sets
 * values for them. The first commit contains these values as pending, so that the next reader can complete the write.
 */
export class Appender {
  readonly #parts: AppenderParts;
  /** The newest known heads whose deltas are all applied. */
  readonly #finishedHeads = new RecentMap<KnownHead>(CACHE_SIZE);

  constructor(parts: AppenderParts) {
    this.#parts = parts;
  }

  async append(session: Session, event: SessionEvent): Promise<void> {
    const key = { appName: session.appName, userId: session.userId, sessionId: session.id.trim() };
    const member = memberOf(this.#parts.stores, key);
    const stored = storable(event);
    const delta = splitScopes(stored.actions?.stateDelta ?? {});
    const append: Append = { key, member, session, event, stored, delta };
    const location = parseLocation(session);
    const isHeld = session.events.some(({ id }) => id === event.id);
    const finished = this.#finishedHeads.get(member.threadId);
    let known: Ground | undefined =
      finished?.revision === location.revision && !isHeld
        ? { ...finished, replaced: [] }
        : await this.#catchUp(append, isHeld);
    const attempt = async (lost: number) => {
      if (lost > 0) known = await this.#catchUp(append, true);
      if (!known) return undefined;
      const base = await this.#parts.shared.basisOf("appendEvent", key, delta);
      const clock = Math.max(base.app?.content.clock ?? 0, base.user?.content.clock ?? 0);
      const count = known.head.events + (known.replaced.length > 0 ? 0 : 1);
      const head = nextHead(known.head, count, stored, delta, this.#parts.stamps.next(clock));
      return { head, base, written: await this.#commit(append, known, head) };
    };
    const made = await retry(attempt, {
      ...WRITE_RETRIES,
      isFirstCached: true,
      isRetryable: (error) => error instanceof Lost,
      exhausted: stale,
      clock: this.#parts.clock,
    });
    if (!made) return;
    show(session, event, made.head, made.written.revision);
    this.#parts.lists.tellSoon(member, made.written);
    await this.written(key, made.written, made.base);
  }

  /**
   * Applies the deltas of a write that this process has just committed, and returns the changed states.
   *
   * @throws StoreError `TOO_LARGE` when other writers have filled a state since its size was checked.
   */
  async written(
    key: SessionKey,
    { head, revision }: KnownHead,
    base: Partial<SharedPair>,
  ): Promise<Partial<SharedPair>> {
    const { shared } = this.#parts;
    const { pending } = head;
    const apply = async (threadId: string, scope: "app" | "user") => {
      const write = writeFor(pending, scope);
      const basis = base[scope];
      if (!write || !basis) return undefined;
      try {
        return { [scope]: await shared.apply(threadId, write, basis) };
      } catch (error) {
        throw StoreError.is(error, "TOO_LARGE") ? filledMeanwhile(scope, error) : error;
      }
    };
    const [app, user] = await Promise.all([
      apply(threads.app(key.appName), "app"),
      apply(threads.user(key.appName, key.userId), "user"),
    ]);
    this.#finishedHeads.set(threads.session(key.appName, key.userId, key.sessionId), { head, revision });
    return { ...app, ...user };
  }

  /** Applies the pending deltas of the newest write of a session, and returns the changed states. */
  async finish(
    key: SessionKey,
    { revision, head }: Pick<SessionView, "revision" | "head">,
  ): Promise<Partial<SharedPair>> {
    const finish = async (threadId: string, scope: "app" | "user") => {
      const write = writeFor(head.pending, scope);
      return write && { [scope]: await this.#parts.shared.finish(threadId, write) };
    };
    const [app, user] = await Promise.all([
      finish(threads.app(key.appName), "app"),
      finish(threads.user(key.appName, key.userId), "user"),
    ]);
    const threadId = threads.session(key.appName, key.userId, key.sessionId);
    this.#finishedHeads.set(threadId, { revision, head: copyOf("state", head) });
    return { ...app, ...user };
  }

  /** Returns the session after the event. @throws Lost if another write was first. */
  async #commit(
    { member, stored }: Append,
    { revision, head: before, replaced }: Ground,
    head: Head,
  ): Promise<ListedSession> {
    const store = this.#parts.stores.open(member.threadId);
    const append = [stored, ...replaced.slice(1)].map(messageOf);
    const changeTo = (metadata: Head) => ({ drop: replaced.length, append, metadata });
    // Repeated after an unknown outcome it is a conflict, and then the event is found.
    try {
      return await writeHead(this.#parts.lists, member, before, head, async (whole) =>
        String(await store.commit(changeTo(whole), { expectedRevision: revision })),
      );
    } catch (error) {
      if (StoreError.is(error, "CONFLICT")) throw new Lost();
      throw explained("appendEvent", error, head, this.#parts.stores);
    }
  }

  /**
   * Reads the session and returns the head to append to, or undefined if the event is already appended. `thorough`: searches
   * for the event even if the session is not stale.
   */
  async #catchUp(append: Append, thorough: boolean): Promise<Ground | undefined> {
    const { staleWriter, usedEventId } = this.#parts;
    const { key, session, stored } = append;
    const { head, events, revision, missed, isStale } = await this.#look(append, thorough);
    await this.finish(key, { revision, head });
    const index = events.findIndex(({ id }) => id === stored.id);
    const isThere = index >= 0 && isSame(events[index], stored);
    if (index >= 0 && !isThere && usedEventId === "refuse") {
      throw new StoreError(
        "CONFLICT",
        `appendEvent: event.id "${stored.id}" was used for another event of this session`,
      );
    }
    if (!isThere && isStale && staleWriter === "reject") throw stale();
    // A session that was only updated is not stale, but has another title or state.
    if (isThere || revision !== parseLocation(session).revision) {
      if (missed === head.events) session.events = [];
      const recent = events.slice(events.length - missed);
      refresh(session, head, revision, recent, await this.#parts.shared.loadPair(key));
    }
    return isThere ? undefined : { revision, head, replaced: index < 0 ? [] : events.slice(index) };
  }

  /** Reads all events that the session has missed, and those among which the event may be. */
  async #look({ key, member, session, stored }: Append, thorough: boolean) {
    const location = parseLocation(session);
    const isHeld = session.events.some(({ id }) => id === stored.id);
    let limit: number | undefined = thorough ? LOOKED_THROUGH : 0;
    for (;;) {
      const view = await readSession(this.#parts.stores, member.threadId, limit);
      if (view.head === undefined) throw missing("appendEvent", key);
      const { incarnation, events: count } = view.head;
      const isStale = incarnation !== location.incarnation || count !== location.events;
      const missed = incarnation === location.incarnation ? count - location.events : count;
      const wanted = Math.max(missed, isStale || thorough ? LOOKED_THROUGH : 0);
      if (view.events.length < Math.min(wanted, count)) {
        limit = wanted;
        continue;
      }
      // An event in the session object is appended, independent of its age.
      const isFound = view.events.some(({ id }) => id === stored.id);
      if (isFound || !isHeld || view.events.length >= count) return { ...view, missed, isStale };
      limit = undefined;
    }
  }
}

function filledMeanwhile(scope: "app" | "user", cause: StoreError): StoreError {
  return new StoreError(
    "TOO_LARGE",
    `the state of the ${scope} was filled by other writers at the same time: the session is written, its values for the ${scope} are not; get the session again and make the state smaller`,
    { cause },
  );
}

function stale(): StoreError {
  return new StoreError(
    "CONFLICT",
    'appendEvent: the session is stale, as events were appended to it meanwhile; get it again, or use staleWriter: "reload"',
  );
}
