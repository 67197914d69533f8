import { Lists, rebuildLists } from "@scrollback/collections";
import { chatMessageTraits, StoreError, type StoreFactory } from "@scrollback/store-core";
import { type Clock, reporter, retry, systemClock } from "@scrollback/store-core/internal";
import { type Stamps, stampsOf } from "./clock.ts";
import { listSessions } from "./list-sessions.ts";
import { sessionOf } from "./read/live-session.ts";
import { listedSession, memberOf, type SessionLists } from "./read/session-lists.ts";
import { newHead, readSession } from "./read/session-thread.ts";
import { checkAppend, checkRequest, checkServiceOptions } from "./requests.ts";
import { CREATE_RETRIES } from "./retries.ts";
import type {
  AppendEventRequest,
  CreateSessionRequest,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionEvent,
  SessionKey,
  UpdateSessionRequest,
} from "./session.ts";
import { copyOf, setValue, splitScopes, type Values } from "./state/scopes.ts";
import { type Shared, SharedStates } from "./state/shared-state.ts";
import { threads } from "./threads.ts";
import { Appender } from "./write/appender.ts";
import { deleteSession, deleteUser } from "./write/deletion.ts";
import { createThread, updateThread, type WriteParts } from "./write/session-writes.ts";

/** Options of {@link SessionService}. */
export interface SessionServiceOptions {
  /**
   * The storage of sessions: a store factory of any backend and any message type, without `maxMessages`. With `ttlMs` a
   * session expires that long after its last event.
   */
  stores: Pick<StoreFactory, "settings" | "withTraits">;
  /**
   * What `appendEvent` does with a stale session, to which another writer has appended: `"reject"` (default) throws
   * `CONFLICT`; `"reload"` updates the session object and then appends.
   */
  staleWriter?: "reject" | "reload";
  /**
   * What `appendEvent` does with an event that has the id of another event of the session: `"refuse"` (default) throws
   * `CONFLICT`; `"replace"` replaces the other event and applies the new `stateDelta`.
   */
  usedEventId?: "refuse" | "replace";
  /** Returns the `lastUpdateTime` of a new session. Default: the current time in seconds since 1970. */
  now?: () => number;
  /** The clocks and timers of the service, for tests. Default: those of the process. */
  clock?: Clock;
}

/**
 * Sessions of agents on any {@link StoreFactory}, with state of three scopes: `app:` keys, `user:` keys, and the session's own
 * keys. Any number of processes can use the same sessions concurrently.
 *
 * Every method rejects with a {@link StoreError}: `INVALID_ARGUMENT` before any I/O, or an error of the store.
 *
 * @example
 * const sessions = new SessionService({ stores });
 * const session = await sessions.createSession({ appName: "travel", userId: "ada", state: { "user:language": "nl" } });
 * await sessions.appendEvent({ session, event: { id: "1", author: "user", timestamp: Date.now() / 1000, content: "Hi" } });
 */
export class SessionService implements AsyncDisposable {
  readonly #stores: StoreFactory;
  readonly #now: () => number;
  readonly #shared: SharedStates;
  readonly #lists: SessionLists;
  readonly #appender: Appender;
  readonly #parts: WriteParts;
  readonly #stamps: Stamps;
  #rebuilding: Promise<unknown> | undefined;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, or stores with `maxMessages`. */
  constructor(options: SessionServiceOptions) {
    checkServiceOptions(options);
    const { staleWriter = "reject", usedEventId = "refuse", clock = systemClock } = options;
    const stores = options.stores.withTraits(chatMessageTraits);
    const stamps = stampsOf(clock);
    this.#stores = stores;
    this.#stamps = stamps;
    this.#now = options.now ?? (() => clock.wall() / 1_000);
    this.#shared = new SharedStates(stores, clock, stamps);
    // What fails in the background is repeated, or told with the next write of the session.
    this.#lists = new Lists({ stores, clock, onError: reporter(undefined) });
    const parts = { stores, shared: this.#shared, lists: this.#lists, clock, stamps };
    this.#appender = new Appender({ ...parts, staleWriter, usedEventId });
    this.#parts = { ...parts, appender: this.#appender };
  }

  /**
   * Creates a session. The given state is split by scope.
   *
   * @throws StoreError `CONFLICT` when the id already exists. Of several concurrent calls exactly one succeeds.
   */
  async createSession(request: CreateSessionRequest): Promise<Session> {
    checkRequest("createSession", request);
    const { appName, userId } = request;
    const sessionId = request.sessionId?.trim() || this.#stores.open().threadId;
    const initial = splitScopes(copyOf("createSession: state", request.state ?? {}));
    const key = { appName, userId, sessionId };
    const before = await this.#shared.loadPair(key);
    this.#shared.checkRoom("createSession", before, initial);
    const stamp = this.#stamps.next(Math.max(before.app.content.clock, before.user.content.clock));
    const view = await createThread(this.#parts, key, () =>
      newHead(this.#now(), request.title, initial, stamp),
    );
    const [written] = await Promise.all([
      this.#appender.written(key, view, before),
      this.#lists.tell(memberOf(this.#stores, key), view),
    ]);
    const session = sessionOf(key, view, [], { ...before, ...written });
    for (const [name, value] of Object.entries(initial.temp)) setValue(session.state, name, value);
    return session;
  }

  /** Returns a session with its merged state and the requested events, or undefined if there is none. Three parallel reads. */
  async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    checkRequest("getSession", request);
    const key = trimmed(request);
    const { numRecentEvents, afterTimestamp } = request.config ?? {};
    const [view, app, user] = await Promise.all([
      readSession(this.#stores, threads.session(key.appName, key.userId, key.sessionId), numRecentEvents),
      this.#shared.load(threads.app(key.appName)),
      this.#shared.load(threads.user(key.appName, key.userId)),
    ]);
    if (view.head === undefined) return undefined;
    this.#lists.seen(memberOf(this.#stores, key), listedSession(view));
    const events =
      afterTimestamp === undefined
        ? view.events
        : view.events.filter(({ timestamp }) => timestamp >= afterTimestamp);
    return sessionOf(key, view, events, { app, user, ...(await this.#appender.finish(key, view)) });
  }

  /** Returns the session of this id, or creates it with `state`. Of several concurrent calls one creates it. */
  async getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    checkRequest("getOrCreateSession", request);
    const { appName, userId } = request;
    const sessionId = request.sessionId?.trim();
    if (!sessionId) return await this.createSession(request);
    const attempt = async () =>
      (await this.getSession({ appName, userId, sessionId })) ?? (await this.createSession(request));
    return await retry(attempt, { ...CREATE_RETRIES, clock: this.#parts.clock });
  }

  /**
   * Returns one page of the sessions of a user or an app. Pages are stable for sessions that do not change meanwhile. A session that is
   * damaged, or of a newer format, is in `unreadable` instead, and so are, in a list of an app, the sessions of a user whose state is.
   *
   * @throws StoreError `CORRUPT` if the state of the app, or of the user of the list, is damaged, and if the backend has lost a part of
   *   the list, which is then rebuilt in the background.
   */
  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    checkRequest("listSessions", request);
    try {
      return await listSessions(this.#parts, request);
    } catch (error) {
      // The server has lost a part of the index.
      if (StoreError.is(error, "CORRUPT") && error.threadId === undefined)
        this.#rebuilding = this.rebuildLists({ appName: request.appName }).catch(() => undefined);
      throw error;
    }
  }

  /**
   * Appends an event and updates the given session object. The event and the session's own state are one atomic commit;
   * `app:` and `user:` deltas follow, exactly once each, even if this process dies in between. An event that is already
   * appended is not appended again. A `partial` event is not stored.
   *
   * @returns the event.
   * @throws StoreError `NOT_FOUND` when the session does not exist, `CONFLICT` for a stale session (see `staleWriter`) and for
   *   the id of another event (see `usedEventId`), `TOO_LARGE` for a state that does not fit. Nothing is written then, except
   *   when other writers have filled the state of the app or the user at the same time; the error says so.
   */
  async appendEvent(request: AppendEventRequest): Promise<SessionEvent> {
    checkAppend(request);
    const { session, event } = request;
    if (event.partial !== true) await this.#appender.append(session, event);
    return event;
  }

  /**
   * Sets the title of a session and values of its state without an event. `lastUpdateTime` does not change, and session
   * objects that were read before do not become stale. The title and the session's own state are one atomic commit; `app:`
   * and `user:` values follow, exactly once each, even if this process dies in between.
   *
   * @returns the session with its merged state, without events.
   * @throws StoreError `NOT_FOUND` when the session does not exist, `TOO_LARGE` as `appendEvent`.
   */
  async updateSession(request: UpdateSessionRequest): Promise<Session> {
    checkRequest("updateSession", request);
    const key = trimmed(request);
    const delta = splitScopes(copyOf("updateSession: state", request.state ?? {}));
    const view = await updateThread(this.#parts, key, { title: request.title, delta });
    const session = sessionOf(key, view, [], await this.#shared.loadPair(key));
    for (const [name, value] of Object.entries(delta.temp)) setValue(session.state, name, value);
    return session;
  }

  /**
   * Deletes a session, readable or not, its events and its own state; the state of app and user stays. A missing session is not an
   * error.
   */
  async deleteSession(request: SessionKey): Promise<void> {
    checkRequest("deleteSession", request);
    await deleteSession(this.#parts, trimmed(request));
  }

  /**
   * Deletes all sessions that a user of an app has when it is called, readable or not, and the state of the user. A user without data is
   * not an error. Nothing of these sessions is left in the lists. After a failure, call it again.
   *
   * @throws the error of the first session that cannot be deleted, after the others and the state are; at once an outage.
   */
  async deleteUser(request: Omit<SessionKey, "sessionId">): Promise<void> {
    checkRequest("deleteUser", request);
    await deleteUser(this.#parts, request);
  }

  /**
   * Lists all readable sessions of an app again. For a backend that has lost entries of its indexes, as by an eviction or a failover: lists
   * then fail with `CORRUPT`, or lack sessions. Reads each session of the app.
   *
   * @returns the number of sessions.
   */
  async rebuildLists(request: { appName: string }): Promise<number> {
    checkRequest("rebuildLists", request);
    const { listed } = await rebuildLists(this.#stores, { prefix: threads.sessions(request.appName) });
    return listed;
  }

  /** Returns the state of a user of an app; keys without prefix. `{}` if there is none. */
  async getUserState(request: { appName: string; userId: string }): Promise<Values> {
    checkRequest("getUserState", request);
    return valuesOf(await this.#shared.load(threads.user(request.appName, request.userId)));
  }

  /** Returns the state of an app; keys without prefix. `{}` if there is none. */
  async getAppState(request: { appName: string }): Promise<Values> {
    checkRequest("getAppState", request);
    return valuesOf(await this.#shared.load(threads.app(request.appName)));
  }

  /**
   * Returns when the order of lists is written. Without this call it is written within a second, which keeps the process alive that
   * long. Call it before you close the stores. The service remains usable.
   */
  async flush(): Promise<void> {
    await this.#rebuilding;
    await this.#lists.flush();
  }

  /** The same as {@link SessionService.flush}. The stores stay open. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }
}

function trimmed({ appName, userId, sessionId }: SessionKey): SessionKey {
  return { appName, userId, sessionId: sessionId.trim() };
}

function valuesOf({ content }: Shared): Values {
  return copyOf("state", content.values);
}
