import type { Listed } from "@scrollback/collections";
import {
  type ChatMessage,
  type Revision,
  StoreError,
  type StoreFactory,
  type ThreadPage,
} from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { randomText } from "@scrollback/store-core/internal";
import { FORMAT_VERSION, parseSession } from "../format.ts";
import type { Session, SessionEvent, SessionKey } from "../session.ts";
import { copyOf, largestKey, prefixed, type Scopes, type Values } from "../state/scopes.ts";
import type { SharedWrite } from "../state/shared-state.ts";

/** The state of a session's thread, replaced with every event. The thread's messages are the events. */
export interface Head {
  readonly version: typeof FORMAT_VERSION;
  /** Random, new for each created session, also after one of the same id was deleted. */
  readonly incarnation: string;
  /** The number of events. */
  readonly events: number;
  /** The number of commits. */
  readonly commits: number;
  /** The entries that list the session. */
  readonly listed: Listed;
  readonly lastUpdateTime: number;
  readonly title?: string;
  /** The session's own keys. */
  readonly state: Values;
  /** The values of the newest write for the app and the user. They may already be applied. */
  readonly pending?: Pending;
}

/** The deltas of one write for other threads. */
export interface Pending {
  readonly source: string;
  readonly stamp: number;
  readonly app?: Values;
  readonly user?: Values;
}

/** A session's thread at one revision. */
export interface SessionView {
  readonly revision: Revision;
  readonly head: Head;
  readonly events: readonly SessionEvent[];
  /** In milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number | undefined;
}

/** The position of a session object, from its `revision`. */
export interface SessionLocation {
  readonly incarnation: string;
  readonly events: number;
  readonly revision: Revision;
}

/** Reads a session's thread: all events, or the newest `limit`. `head` is undefined if there is no session. */
export async function readSession(
  stores: StoreFactory,
  threadId: string,
  limit?: number,
  signal?: AbortSignal,
): Promise<SessionView | { readonly revision: Revision | null; readonly head?: undefined }> {
  const page = await stores.open(threadId).read({
    ...(limit !== undefined && { limit }),
    ...(signal && { signal }),
  });
  const head = parseSession<Head>(threadId, page.metadata);
  // Otherwise a new session of this id would begin with these events.
  if (head === undefined && page.count > 0)
    throw new StoreError(
      "CORRUPT",
      `the session of thread "${threadId}" has lost its state (the metadata); delete it`,
      { threadId },
    );
  if (page.revision === null || head === undefined) return { revision: page.revision };
  return {
    revision: page.revision,
    head,
    events: page.entries.map((entry) => eventOf(threadId, entry)),
    ...(page.expiresAt !== undefined && { expiresAt: page.expiresAt }),
  };
}

export function newHead(
  lastUpdateTime: number,
  title: string | undefined,
  { app, user, session }: Scopes,
  stamp: number,
): Omit<Head, "listed"> {
  const incarnation = randomText(6);
  const head: Omit<Head, "listed"> = {
    ...{ version: FORMAT_VERSION, incarnation },
    ...{ events: 0, commits: 1, lastUpdateTime, state: session },
  };
  return withPending(titled(head, title), stamp, app, user);
}

/** Returns the head after an event was appended or replaced. */
export function nextHead(
  head: Head,
  events: number,
  event: SessionEvent,
  delta: Scopes,
  stamp: number,
): Head {
  return changedHead({ ...head, events, lastUpdateTime: event.timestamp }, delta, stamp);
}

/** Returns the head after an update of its session. */
export function updatedHead(
  head: Head,
  title: string | null | undefined,
  delta: Scopes,
  stamp: number,
): Head {
  return changedHead(titled(head, title), delta, stamp);
}

function changedHead(head: Head, { app, user, session }: Scopes, stamp: number): Head {
  const { pending: _applied, ...rest } = head;
  const state = { ...head.state, ...session };
  return withPending({ ...rest, commits: head.commits + 1, state }, stamp, app, user);
}

/** Returns the head with a new title; null removes the title. */
function titled<H extends Omit<Head, "listed">>(head: H, title: string | null | undefined): H {
  if (title === undefined) return head;
  const { title: _before, ...rest } = head;
  return (title === null ? rest : { ...rest, title }) as H;
}

function withPending<H extends Omit<Head, "listed">>(head: H, stamp: number, app: Values, user: Values): H {
  const hasApp = Object.keys(app).length > 0;
  const hasUser = Object.keys(user).length > 0;
  if (!hasApp && !hasUser) return head;
  const source = `${head.incarnation}:${head.events}:${stamp}`;
  return { ...head, pending: { source, stamp, ...(hasApp && { app }), ...(hasUser && { user }) } };
}

/** Returns the write of a pending delta to the thread of the app or the user, or undefined if there is none. */
export function writeFor(pending: Pending | undefined, scope: "app" | "user"): SharedWrite | undefined {
  const delta = pending?.[scope];
  return pending && delta && { source: pending.source, stamp: pending.stamp, delta };
}

/** Converts an event to a message: the event is the message's metadata. */
export function messageOf(event: SessionEvent): ChatMessage {
  return { id: event.id, role: event.author === "user" ? "user" : "assistant", content: "", metadata: event };
}

/** @throws StoreError `CORRUPT` for a message that is not an event. */
function eventOf(threadId: string, { sequence, message }: ThreadPage["entries"][number]): SessionEvent {
  const { id } = Object(message.metadata) as Partial<SessionEvent>;
  if (typeof id === "string") return message.metadata as SessionEvent;
  const problem = `message ${sequence} of thread "${threadId}" is not an event of a session`;
  throw new StoreError("CORRUPT", problem, { threadId, sequence });
}

/** Copies an event without its temporary keys. @throws StoreError `INVALID_ARGUMENT` for values that cannot be stored. */
export function storable(event: SessionEvent): SessionEvent {
  const copy = copyOf("event", event);
  const { actions } = copy;
  if (!actions?.stateDelta) return copy;
  const kept = Object.entries(actions.stateDelta).filter(([key]) => !key.startsWith("temp:"));
  return { ...copy, actions: { ...actions, stateDelta: Object.fromEntries(kept) } };
}

/** The error of a commit of a head to a session's thread. `TOO_LARGE` is explained in terms of sessions. */
export function explained(
  method: string,
  error: unknown,
  { state, pending }: Pick<Head, "state" | "pending">,
  { metadataSize }: Pick<StoreFactory, "metadataSize">,
): unknown {
  if (!StoreError.is(error, "TOO_LARGE")) return error;
  const values = {
    ...state,
    ...prefixed("app", pending?.app ?? {}),
    ...prefixed("user", pending?.user ?? {}),
  };
  const message = `${method}: the event, or the state of the session (the metadata), is too large: ${error.message}${largestKey(values, metadataSize)}`;
  return new StoreError("TOO_LARGE", message, { cause: error });
}

export function missing(method: string, { sessionId }: SessionKey): StoreError {
  return new StoreError("NOT_FOUND", `${method}: there is no session "${sessionId}"; create it first`);
}

export function formatLocation(
  { incarnation, events }: Pick<Head, "incarnation" | "events">,
  revision: Revision,
): string {
  return `${incarnation}:${events}:${revision}`;
}

/** @throws StoreError `INVALID_ARGUMENT` for an invalid revision. */
export function parseLocation(session: Session): SessionLocation {
  const match = /^([\w-]{1,64}):(\d{1,15}):(.+)$/s.exec(String(session.revision));
  if (!match)
    return invalid("appendEvent: session.revision must be the one that create, get or list returned");
  const [, incarnation = "", events, revision = ""] = match;
  return { incarnation, events: Number(events), revision };
}
