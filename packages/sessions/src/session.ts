/** Which session: an id is one of a user's, a user one of an app's. */
export interface SessionKey {
  /** Not empty, at most 1,024 bytes; used exactly as given. */
  appName: string;
  /** Not empty, at most 1,024 bytes; used exactly as given. */
  userId: string;
  /** At most 1,024 bytes; blanks around it are no part of it. */
  sessionId: string;
}

/** What an event does beside being said. */
export interface EventActions {
  /** New values by key: `app:…`, `user:…`, `temp:…`, or the session's own. A value replaces the one before. */
  stateDelta?: Record<string, unknown>;
  [field: string]: unknown;
}

/** One thing that happened in a session. Fields beyond these are stored and returned as they are. */
export interface SessionEvent {
  /** 1 to 1,024 bytes, its own within the session. */
  id: string;
  /** `"user"`, or the name of the agent. */
  author: string;
  /** Seconds since the epoch, with fractions. Becomes the session's `lastUpdateTime`. */
  timestamp: number;
  invocationId?: string | undefined;
  branch?: string | undefined;
  /** A piece of an event that is still being streamed. It is not stored. */
  partial?: boolean | undefined;
  content?: unknown;
  actions?: EventActions | undefined;
  [field: string]: unknown;
}

/** A session as it was when it was read: plain data, of which a copy may be appended to as well. */
export interface Session {
  id: string;
  appName: string;
  userId: string;
  /** What lists show it by; absent where it has none. */
  title?: string;
  /** The session's own keys, `app:…` and `user:…`, merged; `temp:…` only until it is read again. */
  state: Record<string, unknown>;
  /** Oldest first; as many as were asked for. */
  events: SessionEvent[];
  /** The newest event's timestamp; seconds since the epoch. Of a session without events: when it was created. */
  lastUpdateTime: number;
  /** Opaque; what `appendEvent` knows a stale session by. */
  revision: string;
}

/** What {@link SessionService.createSession} and {@link SessionService.getOrCreateSession} take. */
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

/** What {@link SessionService.updateSession} takes. */
export interface UpdateSessionRequest extends SessionKey {
  /** The new title, 1 to 1,024 bytes; null removes it. Default: it stays. */
  title?: string | null | undefined;
  /** Values to set, split by scope, like an event's `stateDelta`. Default none. */
  state?: Record<string, unknown> | undefined;
}

/** Which events {@link SessionService.getSession} loads. State is complete whatever is asked for here. */
export interface GetSessionConfig {
  /** At most the newest so many; 0 for none. Default: all. */
  numRecentEvents?: number | undefined;
  /** Of those, the ones with this timestamp or a later one; seconds since the epoch. Default: all. */
  afterTimestamp?: number | undefined;
}

/** What {@link SessionService.getSession} takes. */
export interface GetSessionRequest extends SessionKey {
  config?: GetSessionConfig | undefined;
}

/** What {@link SessionService.listSessions} takes. */
export interface ListSessionsRequest {
  appName: string;
  /** Default: the sessions of all users of the app. */
  userId?: string | undefined;
  /** At most so many sessions, 1 to 100. Default 20. */
  limit?: number | undefined;
  /** The `nextPageToken` of the page before, of the same list in the same order. */
  pageToken?: string | undefined;
  /** By `lastUpdateTime`: newest first (`"desc"`, the default) or oldest first. Ties by id, ascending in both. */
  order?: "desc" | "asc" | undefined;
}

/** One page of sessions. */
export interface ListSessionsResponse {
  /** With their merged state, and without events. */
  sessions: Session[];
  /** Absent on the last page. */
  nextPageToken?: string;
}

/** What {@link SessionService.appendEvent} takes. */
export interface AppendEventRequest {
  /** As create, get or list gave it, or a copy of it. It is brought up to date. */
  session: Session;
  event: SessionEvent;
}
