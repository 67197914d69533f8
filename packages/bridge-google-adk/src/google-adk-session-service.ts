import {
  type Session as AdkSession,
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  type DeleteSessionRequest,
  type Event,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
} from "@google/adk";
import { type Session, SessionService, type SessionServiceOptions } from "@scrollback/sessions";
import { checkOptions } from "@scrollback/store-core/driver";
import { emitWarning, isStoreFactory, reportUnpaired } from "@scrollback/store-core/internal";
import { pairedEvents } from "./answers.ts";
import { toAdkEvent, toSessionEvent } from "./event.ts";

const PAGE = 100;

/** Options of {@link GoogleAdkSessionService}. */
export interface GoogleAdkSessionServiceOptions {
  /**
   * The storage of sessions: a store factory of any backend and any message type, without `maxMessages`. The factory stays open.
   */
  stores: SessionServiceOptions["stores"];
}

/** An ADK session of this service. Times are in milliseconds, as in ADK for TypeScript. */
export interface GoogleAdkSession extends AdkSession {
  /** The opaque revision of the session. An object without it counts as the newest revision. */
  revision: string;
}

/**
 * Sessions of `@scrollback/sessions` as the session service of Google's Agent Development Kit for TypeScript, version 2.
 *
 * A missing session is undefined. Appending an event with an existing id replaces that event. If another writer has
 * appended in between, the session is updated and the event is added after the newest one.
 *
 * Rejects with the `StoreError`s of the session service: `CONFLICT` for creating an existing session, `NOT_FOUND` for appending
 * to a missing one, `INVALID_ARGUMENT` for values that cannot be stored.
 *
 * @example
 * const sessionService = new GoogleAdkSessionService({ stores: await openStores("sqlite:chats.db") });
 * const runner = new Runner({ appName: "travel", agent, sessionService });
 */
export class GoogleAdkSessionService extends BaseSessionService implements AsyncDisposable {
  readonly #sessions: SessionService;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, or stores that trim. */
  constructor(options: GoogleAdkSessionServiceOptions) {
    super();
    checkOptions("GoogleAdkSessionService", options, { stores: isStoreFactory("events") }, ["stores"]);
    this.#sessions = new SessionService({
      stores: options.stores,
      staleWriter: "reload",
      usedEventId: "replace",
      now: Date.now,
    });
  }

  /** Creates a session. Fails with `CONFLICT` if the id exists. */
  override async createSession(request: CreateSessionRequest): Promise<GoogleAdkSession> {
    const { appName, userId, sessionId, state } = request;
    return this.#toAdk(await this.#sessions.createSession({ appName, userId, sessionId, state }));
  }

  /**
   * Returns the session with the requested events, or undefined. `numRecentEvents: 0` returns no events. A tool call whose result
   * was never stored is followed by a result that says so, and a result without its call is left out, because models refuse both. A
   * warning of the process reports what was left out, once a session.
   */
  override async getSession(request: GetSessionRequest): Promise<GoogleAdkSession | undefined> {
    const { appName, userId, sessionId, config } = request;
    const { numRecentEvents, afterTimestamp } = config ?? {};
    const key = { appName, userId, sessionId, config: { numRecentEvents, afterTimestamp } };
    const session = await this.#sessions.getSession(key);
    return session && this.#toAdk(session);
  }

  /** Returns the session with this id, and creates it if it does not exist. Of several concurrent calls, one creates it. */
  override async getOrCreateSession(request: CreateSessionRequest): Promise<GoogleAdkSession> {
    const { appName, userId, sessionId, state } = request;
    return this.#toAdk(await this.#sessions.getOrCreateSession({ appName, userId, sessionId, state }));
  }

  /**
   * Returns the sessions with their state and without events, by default the most recently updated first. Reads the head of every
   * session, independent of the limit, because ADK's totals count all of them. For long lists use `listSessions` of
   * `@scrollback/sessions` on the same stores, which reads a page. Damaged sessions are left out, and a warning of the process names
   * them.
   */
  override async listSessions(request: ListSessionsRequest): Promise<ListSessionsResponse> {
    const { appName, userId, order } = request;
    const all: AdkSession[] = [];
    const unreadable = new Set<string>();
    let pageToken: string | undefined;
    do {
      const page = await this.#sessions.listSessions({ appName, userId, order, limit: PAGE, pageToken });
      all.push(...page.sessions.map((session) => this.#toAdk(session)));
      for (const key of page.unreadable ?? []) unreadable.add(JSON.stringify([key.userId, key.sessionId]));
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
    if (unreadable.size > 0) warnUnreadable(appName, [...unreadable]);
    return pageOf(all, request);
  }

  /** Removes a session with its events. Does nothing for a missing session. */
  override async deleteSession(request: DeleteSessionRequest): Promise<void> {
    const { appName, userId, sessionId } = request;
    await this.#sessions.deleteSession({ appName, userId, sessionId });
  }

  /**
   * Stores an event with its state delta and updates the passed session, as ADK's own services do. Returns a partial event
   * unchanged, without storing it.
   *
   * @throws StoreError `TOO_LARGE` that names the largest key, for a state above 256 KiB (of an app or a user: 192 KiB). Nothing
   *   is written then, and the session can be used on.
   */
  override async appendEvent({ session, event }: AppendEventRequest): Promise<Event> {
    if (event.partial) return event;
    const stored = toSessionEvent(event);
    // Only ADK changes the passed session: it knows which of its values are newer than the delta.
    const own: Session = {
      ...(await this.#placeOf(session)),
      events: [...session.events.map(toSessionEvent)],
    };
    await this.#sessions.appendEvent({ session: own, event: stored });
    const held = new Set(session.events.map(({ id }) => id));
    const missed = own.events.filter(({ id }) => !held.has(id) && id !== stored.id);
    if (missed.length > 0) {
      session.events.push(...missed.map(toAdkEvent));
      for (const [key, value] of Object.entries(own.state)) setValue(session.state, key, value);
    }
    const appended = await super.appendEvent({ session, event });
    session.lastUpdateTime = event.timestamp;
    Object.assign(session, { revision: own.revision });
    return appended;
  }

  /** Returns when the order of long lists is stored. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#sessions.flush();
  }

  /** The same as {@link GoogleAdkSessionService.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  #toAdk({ events, ...session }: Session): GoogleAdkSession {
    const { messages, unpaired } = pairedEvents(events.map(toAdkEvent));
    const threadId = `${session.appName}/${session.userId}/${session.id}`;
    reportUnpaired({ scope: this.#sessions, threadId }, unpaired);
    return { ...session, events: messages };
  }

  /** The session at the revision of the object; at the current revision if the object has none. */
  async #placeOf(session: AdkSession & { revision?: unknown }): Promise<Session> {
    const { id, appName, userId, lastUpdateTime, revision } = session;
    const place = { id, appName, userId, lastUpdateTime, state: {}, events: [] };
    if (typeof revision === "string") return { ...place, revision };
    const newest = await this.#sessions.getSession({
      appName,
      userId,
      sessionId: id,
      config: { numRecentEvents: 0 },
    });
    // Any revision works for a missing session: the append reports it.
    return { ...place, revision: newest?.revision ?? "none:0:none" };
  }
}

/** The response in the form of ADK's own services. */
function pageOf(all: AdkSession[], { limit, offset = 0, page }: ListSessionsRequest): ListSessionsResponse {
  const totalItems = all.length;
  if (limit === undefined) {
    return {
      sessions: all.slice(offset),
      page: 1,
      limit: totalItems,
      totalItems,
      totalPages: totalItems === 0 ? 0 : 1,
    };
  }
  const start = page === undefined ? offset : (page - 1) * limit;
  return {
    sessions: all.slice(start, start + limit),
    page: page ?? (limit === 0 ? 1 : Math.floor(offset / limit) + 1),
    limit,
    totalItems,
    totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit),
  };
}

/** Sets an own property of any name. */
function setValue(values: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(values, key, { value, writable: true, enumerable: true, configurable: true });
}

function warnUnreadable(appName: string, keys: readonly string[]): void {
  emitWarning(
    `listSessions: ${keys.length} damaged sessions of app ${JSON.stringify(appName)} are left out: ${keys.slice(0, 5).join(", ")}; deleteSession deletes them`,
  );
}
