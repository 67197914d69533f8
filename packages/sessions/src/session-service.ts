import {
  chatMessageTraits,
  pause,
  type Revision,
  StoreError,
  type StoreFactory,
} from "@scrollback/store-core";
import { Appender } from "./appender.ts";
import { nextStamp } from "./clock.ts";
import { Directories } from "./directory/directories.ts";
import { parseToken } from "./directory/page-token.ts";
import { checkAppend, checkRequest, checkServiceOptions } from "./requests.ts";
import { copyOf, isEmpty, mergeScopes, setValue, splitScopes, type Values } from "./scopes.ts";
import type {
  AppendEventRequest,
  CreateSessionRequest,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionEvent,
  SessionKey,
} from "./session.ts";
import {
  explained,
  formatPlace,
  type Head,
  newHead,
  readSession,
  type SessionView,
} from "./session-thread.ts";
import { type Shared, type SharedPair, SharedStates } from "./shared-state.ts";
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

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for a wrong option, or stores that trim. */
  constructor(options: SessionServiceOptions) {
    checkServiceOptions(options);
    const { staleWriter = "reject", usedEventId = "refuse" } = options;
    const stores = options.stores.withTraits(chatMessageTraits);
    this.#stores = stores;
    this.#now = options.now ?? (() => Date.now() / 1_000);
    this.#shared = new SharedStates(stores);
    this.#directories = new Directories(stores);
    const parts = { stores, shared: this.#shared, directories: this.#directories, staleWriter, usedEventId };
    this.#appender = new Appender(parts);
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
    const appThread = threads.app(appName);
    const userThread = threads.user(appName, userId);
    const [app, user] = await Promise.all([this.#shared.load(appThread), this.#shared.load(userThread)]);
    if (!isEmpty(initial.app))
      this.#shared.checkRoom("createSession: the state of the app", app, initial.app);
    if (!isEmpty(initial.user))
      this.#shared.checkRoom("createSession: the state of the user", user, initial.user);
    const stamp = nextStamp(Math.max(app.content.clock, user.content.clock));
    const head = newHead(this.#now(), initial, stamp);
    const revision = await this.#create({ appName, userId, sessionId }, head);
    const session: Session = {
      id: sessionId,
      appName,
      userId,
      state: mergeScopes(
        { ...app.content.values, ...initial.app },
        { ...user.content.values, ...initial.user },
        initial.session,
      ),
      events: [],
      lastUpdateTime: head.lastUpdateTime,
      revision: formatPlace(head, revision),
    };
    for (const [key, value] of Object.entries(initial.temp)) setValue(session.state, key, value);
    await this.#appender.written({ appName, userId, sessionId }, { revision, head }, { app, user });
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
    return this.#sessionOf(key, view, events, { app, user, ...(await this.#appender.finish(key, view)) });
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
    );
    const sessions = page.sessions.map(async ({ key, shared, ...view }) =>
      this.#sessionOf(key, view, [], { ...shared, ...(await this.#appender.finish(key, view)) }),
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

  /** Removes a session, its events and its own state; the state of app and user stays. A missing one is none to remove. */
  async deleteSession(request: SessionKey): Promise<void> {
    checkRequest("deleteSession", request);
    const { appName, userId, sessionId } = trimmed(request);
    const threadId = threads.session(appName, userId, sessionId);
    const view = await readSession(this.#stores, threadId, 0);
    if (view.head === undefined) return;
    // What it still owes to the app and the user is theirs.
    await this.#appender.finish({ appName, userId, sessionId }, view);
    await this.#stores.open(threadId).clear();
    const { life, events, lastUpdateTime: time } = view.head;
    const note = { time, sessionId, userId, life, events, was: [time], removed: true as const };
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
    await this.#directories.settle();
  }

  /** The same as {@link SessionService.flush}: what was opened is the stores', and stays open. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  /** Notes the session first: one that is noted and not there does no harm, one that is there and not noted would be lost. */
  async #create({ appName, userId, sessionId }: SessionKey, head: Head): Promise<Revision> {
    const { life, events, lastUpdateTime: time } = head;
    const store = this.#stores.open(threads.session(appName, userId, sessionId));
    let expectedRevision: Revision | null = null;
    await this.#directories.noteNow(appName, { time, sessionId, userId, life, events, was: [] });
    for (let attempt = 0; ; attempt++) {
      try {
        return String(await store.commit({ metadata: head }, { expectedRevision }));
      } catch (error) {
        if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS)
          throw explained("createSession", error);
      }
      const view = await readSession(this.#stores, store.threadId, 0);
      if (view.head !== undefined) {
        const { life: owner, events: count, lastUpdateTime } = view.head;
        const was = [time, lastUpdateTime];
        this.#directories.note(appName, {
          time: lastUpdateTime,
          sessionId,
          userId,
          life: owner,
          events: count,
          was,
        });
        throw new StoreError("CONFLICT", `createSession: sessionId "${sessionId}" already exists`);
      }
      // There was one, which was deleted.
      expectedRevision = view.revision;
      await pause(0);
    }
  }

  #sessionOf(
    { appName, userId, sessionId }: SessionKey,
    { head, revision }: Pick<SessionView, "head" | "revision">,
    events: readonly SessionEvent[],
    { app, user }: SharedPair,
  ): Session {
    return {
      id: sessionId,
      appName,
      userId,
      state: mergeScopes(app.content.values, user.content.values, head.state),
      events: [...events],
      lastUpdateTime: head.lastUpdateTime,
      revision: formatPlace(head, revision),
    };
  }
}

function trimmed({ appName, userId, sessionId }: SessionKey): SessionKey {
  return { appName, userId, sessionId: sessionId.trim() };
}

function valuesOf({ content }: Shared): Values {
  return copyOf("state", content.values);
}
