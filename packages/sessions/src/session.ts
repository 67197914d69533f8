/** The key of a session. Ids are unique per user, users are unique per app. */
export interface SessionKey {
  /** Not empty, at most 1,024 bytes; used exactly as given. */
  appName: string;
  /** Not empty, at most 1,024 bytes; used exactly as given. */
  userId: string;
  /** At most 1,024 bytes. Surrounding white space is ignored. */
  sessionId: string;
}

/** The effects of an event on the state. */
interface EventActions {
  /** New values by key: `app:…`, `user:…`, `temp:…`, or the session's own keys. A value replaces the previous one. */
  stateDelta?: Record<string, unknown>;
  [field: string]: unknown;
}

/** One event of a session. Additional fields are stored and returned unchanged. */
export interface SessionEvent {
  /** 1 to 1,024 bytes, unique within the session. */
  id: string;
  /** `"user"`, or the name of the agent. */
  author: string;
  /** Seconds since 1970, with fractions. Becomes the session's `lastUpdateTime`. */
  timestamp: number;
  invocationId?: string | undefined;
  branch?: string | undefined;
  /** Whether this is a part of an event that is still streamed. It is not stored. */
  partial?: boolean | undefined;
  content?: unknown;
  actions?: EventActions | undefined;
  [field: string]: unknown;
}

/** A session at the time of the read: plain data. A copy can be passed to `appendEvent` too. */
export interface Session {
  id: string;
  appName: string;
  userId: string;
  /** The title for lists, if it has one. */
  title?: string;
  /** The session's own keys merged with `app:…` and `user:…`. `temp:…` keys exist only until the next read. */
  state: Record<string, unknown>;
  /** The requested events, oldest first. */
  events: SessionEvent[];
  /** The newest event's timestamp in seconds since 1970; without events, the time of the creation. */
  lastUpdateTime: number;
  /** Opaque. `appendEvent` recognises a stale session by it. */
  revision: string;
}

/** The request of {@link SessionService.createSession} and {@link SessionService.getOrCreateSession}. */
export interface CreateSessionRequest {
  appName: string;
  userId: string;
  /** Default, also for a blank one: a new UUID v7. */
  sessionId?: string | undefined;
  /** 1 to 1,024 bytes. Default none. */
  title?: string | undefined;
  /** Split by scope, like an event's `stateDelta`. Default none. */
  state?: Record<string, unknown> | undefined;
}

/** The request of {@link SessionService.updateSession}. */
export interface UpdateSessionRequest extends SessionKey {
  /** The new title, 1 to 1,024 bytes; null removes the title. Default: unchanged. */
  title?: string | null | undefined;
  /** Values to set, split by scope, like an event's `stateDelta`. Default none. */
  state?: Record<string, unknown> | undefined;
}

/** Which events {@link SessionService.getSession} loads. The state is always complete. */
interface GetSessionConfig {
  /** The maximum number of newest events; 0 for none. Default: all. */
  numRecentEvents?: number | undefined;
  /** Of these, only events with this timestamp or a later one, in seconds since 1970. Default: all. */
  afterTimestamp?: number | undefined;
}

/** The request of {@link SessionService.getSession}. */
export interface GetSessionRequest extends SessionKey {
  config?: GetSessionConfig | undefined;
}

/** The request of {@link SessionService.listSessions}. */
export interface ListSessionsRequest {
  appName: string;
  /** Default: the sessions of all users of the app. */
  userId?: string | undefined;
  /** The maximum number of sessions, 1 to 100. Default 20. */
  limit?: number | undefined;
  /** The `nextPageToken` of the previous page of the same list and order. */
  pageToken?: string | undefined;
  /** By `lastUpdateTime`: newest first (`"desc"`, default) or the exact reverse (`"asc"`). Equal times of a user are sorted by id in `"asc"`. */
  order?: "desc" | "asc" | undefined;
}

/** One page of sessions. */
export interface ListSessionsResponse {
  /** The sessions with their merged state, without events. */
  sessions: Session[];
  /** Absent on the last page. */
  nextPageToken?: string;
  /**
   * Sessions of this page that are damaged or of a newer format, or whose user's state is. `getSession` fails with `CORRUPT` or
   * `UNSUPPORTED` for each, `deleteSession` deletes it. Absent: none.
   */
  unreadable?: SessionKey[];
}

/** The request of {@link SessionService.appendEvent}. */
export interface AppendEventRequest {
  /** The session that create, get or list returned, or a copy of it. It is updated. */
  session: Session;
  event: SessionEvent;
}
