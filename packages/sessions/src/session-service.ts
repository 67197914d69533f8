import { chatMessageTraits, StoreError, type StoreFactory } from "@scrollback/store-core";
import { Appender } from "./appender.ts";
import { type SessionClock, type Stamps, stampsOf, systemSessionClock } from "./clock.ts";
import { Directories } from "./directories.ts";
import { sessionOf } from "./live-session.ts";
import { parseToken } from "./page-token.ts";
import { checkAppend, checkRequest, checkServiceOptions } from "./requests.ts";
import { copyOf, setValue, splitScopes, type Values } from "./scopes.ts";
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
import { newHead, readSession } from "./session-thread.ts";
import { createThread, refuseCreations, updateThread, type WriteParts } from "./session-writes.ts";
import { type Shared, SharedStates } from "./shared-state.ts";
import { threads } from "./threads.ts";

const MAX_ATTEMPTS = 20;

/** What a {@link SessionService} takes. */
export interface SessionServiceOptions {
  /**
   * Where sessions are kept: a store factory of any backend and any message type, without `maxMessages`. With `ttlMs` a
   * session expires that long after its last event.
   */
  stores: Pick<StoreFactory, "settings" | "withTraits">;
  /**
   * What `appendEvent` does with a session to which someone else has appended meanwhile: `"reject"` (the default) throws
   * `CONFLICT`, `"reload"` brings the session up to date and appends to that.
   */
  staleWriter?: "reject" | "reload";
  /**
   * What `appendEvent` does with an event whose id another event of the session has: `"refuse"` (the default) throws
   * `CONFLICT`, `"replace"` puts it in the other one's place, and applies its `stateDelta`.
   */
  usedEventId?: "refuse" | "replace";
  /** The `lastUpdateTime` of a session that is created. Default: seconds since the epoch. */
  now?: () => number;
  /** The clocks, timers and random numbers that the service goes by; for tests. Default: those of the process. */
  clock?: SessionClock;
}

/**
 * Sessions of agents with state of three scopes (`app:` keys, `user:` keys, and the session's own), over any
 * {@link StoreFactory}. Any number of processes may use the same sessions at once.
 *
 * Every method rejects with a {@link StoreError}: `INVALID_ARGUMENT` before any I/O, and what the store throws.
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
  readonly #directories: Directories;
  readonly #appender: Appender;
  readonly #parts: WriteParts;
  readonly #stamps: Stamps;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for a wrong option, or stores that trim. */
  constructor(options: SessionServiceOptions) {
    checkServiceOptions(options);
    const { staleWriter = "reject", usedEventId = "refuse", clock = systemSessionClock } = options;
    const stores = options.stores.withTraits(chatMessageTraits);
    const stamps = stampsOf(clock);
    this.#stores = stores;
    this.#stamps = stamps;
    this.#now = options.now ?? (() => clock.wall() / 1_000);
    this.#shared = new SharedStates(stores, clock, stamps);
    this.#directories = new Directories(stores, clock);
    const parts = { stores, shared: this.#shared, directories: this.#directories, clock, stamps };
    this.#appender = new Appender({ ...parts, staleWriter, usedEventId });
    this.#parts = { ...parts, appender: this.#appender };
  }

  /**
   * Makes a session, with its state split by scope.
   *
   * @throws StoreError `CONFLICT` when there is one of this id ("already exists"); of several calls at once one succeeds.
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
    const session = sessionOf(key, view, [], {
      ...before,
      ...(await this.#appender.written(key, view, before)),
    });
    for (const [name, value] of Object.entries(initial.temp)) setValue(session.state, name, value);
    return session;
  }

  /** A session with its merged state and the events asked for, or undefined where there is none. Three reads at once. */
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
    const events =
      afterTimestamp === undefined
        ? view.events
        : view.events.filter(({ timestamp }) => timestamp >= afterTimestamp);
    return sessionOf(key, view, events, { app, user, ...(await this.#appender.finish(key, view)) });
  }

  /** The session of this id, made where there is none (then with `state`). Of several calls at once one makes it. */
  async getOrCreateSession(request: CreateSessionRequest): Promise<Session> {
    checkRequest("getOrCreateSession", request);
    const { appName, userId } = request;
    const sessionId = request.sessionId?.trim();
    if (!sessionId) return await this.createSession(request);
    for (let attempt = 0; ; attempt++) {
      const found = await this.getSession({ appName, userId, sessionId });
      if (found) return found;
      try {
        return await this.createSession(request);
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
      }
    }
  }

  /** One page of the sessions of a user, or of an app. Pages are stable for sessions that do not change meanwhile. */
  async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    checkRequest("listSessions", request);
    const { appName, limit = 20, order = "desc" } = request;
    const after = request.pageToken === undefined ? undefined : parseToken(order, request.pageToken);
    const threadId =
      request.userId === undefined
        ? threads.directoryOfApp(appName)
        : threads.directoryOfUser(appName, request.userId);
    const states = new Map<string, Promise<Shared>>();
    const stateOf = (ofThread: string) => {
      const state = states.get(ofThread) ?? this.#shared.load(ofThread);
      states.set(ofThread, state);
      return state;
    };
    const page = await this.#directories.page(
      threadId,
      { order, after, limit },
      async ({ userId, sessionId }) => {
        const [view, app, user] = await Promise.all([
          readSession(this.#stores, threads.session(appName, userId, sessionId), 0),
          stateOf(threads.app(appName)),
          stateOf(threads.user(appName, userId)),
        ]);
        return view.head && { ...view, key: { appName, userId, sessionId }, shared: { app, user } };
      },
      ({ userId, sessionId }) => refuseCreations(this.#stores, { appName, userId, sessionId }),
    );
    const sessions = page.sessions.map(async ({ key, shared, ...view }) =>
      sessionOf(key, view, [], { ...shared, ...(await this.#appender.finish(key, view)) }),
    );
    return { ...page, sessions: await Promise.all(sessions) };
  }

  /**
   * Appends an event, and brings the session that was passed up to date. The event and the session's own state are one
   * atomic commit; `app:` and `user:` deltas follow, exactly once each, also when this process dies in between. An event
   * that is there already is not appended again. A `partial` event is not stored.
   *
   * @returns the event.
   * @throws StoreError `NOT_FOUND` when there is no such session, `CONFLICT` for a stale session (see `staleWriter`) and
   *   for an id that another event has (see `usedEventId`), `TOO_LARGE` for a state that does not fit: nothing is written
   *   then, but where others have filled the state of the app or the user at the same moment, of which the error tells.
   */
  async appendEvent(request: AppendEventRequest): Promise<SessionEvent> {
    checkAppend(request);
    const { session, event } = request;
    if (event.partial !== true) await this.#appender.append(session, event);
    return event;
  }

  /**
   * Sets the title of a session and values of its state, without an event: neither is `lastUpdateTime` moved, nor does a
   * session that was read before become stale. The title and the session's own state are one atomic commit; `app:` and
   * `user:` values follow, exactly once each, also when this process dies in between.
   *
   * @returns the session with its merged state, without events.
   * @throws StoreError `NOT_FOUND` when there is no such session, `TOO_LARGE` as `appendEvent` does.
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

  /** Removes a session, its events and its own state; the state of app and user stays. A missing one is none to remove. */
  async deleteSession(request: SessionKey): Promise<void> {
    checkRequest("deleteSession", request);
    const { appName, userId, sessionId } = trimmed(request);
    const threadId = threads.session(appName, userId, sessionId);
    const view = await readSession(this.#stores, threadId, 0);
    if (view.head === undefined) return;
    // What it still owes to the app and the user is theirs.
    await this.#appender.finish({ appName, userId, sessionId }, view);
    await this.#stores.deleteThread(threadId);
    const { incarnation, events, lastUpdateTime: time } = view.head;
    const note = { time, sessionId, userId, incarnation, events, was: [time], removed: true as const };
    await this.#directories.noteNow(appName, note);
  }

  /** What is kept for a user of an app; keys without prefix. `{}` when there is nothing. */
  async getUserState(request: { appName: string; userId: string }): Promise<Values> {
    checkRequest("getUserState", request);
    return valuesOf(await this.#shared.load(threads.user(request.appName, request.userId)));
  }

  /** What is kept for an app; keys without prefix. `{}` when there is nothing. */
  async getAppState(request: { appName: string }): Promise<Values> {
    checkRequest("getAppState", request);
    return valuesOf(await this.#shared.load(threads.app(request.appName)));
  }

  /**
   * Returns when the order of sessions in large directories is written down, which otherwise follows within a second (and
   * keeps the process alive that long). Call it before the stores are closed. The service can be used on after it.
   */
  async flush(): Promise<void> {
    await this.#directories.flush();
  }

  /** The same as {@link SessionService.flush}: what was opened is the stores', and stays open. */
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
