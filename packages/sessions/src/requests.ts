import { type Check, checkOptions, hasMethods, isId, isObject, isOneOf } from "@scrollback/store-core/driver";
import {
  checkValue,
  isBoolean,
  isCount,
  isFunction,
  isIntegerUpTo,
  isPlainObject,
  isStoreFactory,
  isText,
} from "@scrollback/store-core/internal";
import type { Session, SessionEvent } from "./session.ts";

const isTime: Check = (value) =>
  typeof value === "number" && Number.isFinite(value) ? undefined : "must be a number of seconds since 1970";

const isSessionId: Check = (value) =>
  typeof value === "string" && value.trim() === "" ? "must be a string that is not blank" : isId(value);

/** A blank value counts as absent. */
const isSessionIdOrBlank: Check = (value) =>
  typeof value === "string" && value.trim() === "" ? undefined : isId(value);

const isEvents: Check = (value) => (Array.isArray(value) ? undefined : "must be a list of events");

const isToken: Check = (value) => (typeof value === "string" ? undefined : "must be a nextPageToken");

const isTitleOrNull: Check = (value) => (value === null ? undefined : isId(value));

const checks = {
  appName: isId,
  userId: isId,
  sessionId: isSessionId,
  state: isPlainObject,
  limit: isIntegerUpTo(100),
  pageToken: isToken,
  order: isOneOf("desc", "asc"),
};
type Field = keyof typeof checks | "title" | "config";

const configChecks = { numRecentEvents: isCount, afterTimestamp: isTime };

const ofNew = { state: isPlainObject, title: isId, sessionId: isSessionIdOrBlank };

const requests = {
  createSession: fields(["appName", "userId"], ofNew),
  getOrCreateSession: fields(["appName", "userId"], ofNew),
  getSession: fields(["appName", "userId", "sessionId"], { config: isObject }),
  updateSession: fields(["appName", "userId", "sessionId"], { title: isTitleOrNull, state: isPlainObject }),
  deleteSession: fields(["appName", "userId", "sessionId"]),
  deleteUser: fields(["appName", "userId"]),
  listSessions: fields(["appName"], {
    userId: checks.userId,
    limit: checks.limit,
    pageToken: checks.pageToken,
    order: checks.order,
  }),
  getUserState: fields(["appName", "userId"]),
  getAppState: fields(["appName"]),
  rebuildLists: fields(["appName"]),
};

function fields(
  required: readonly (keyof typeof checks)[],
  optional: Readonly<Partial<Record<Field, Check>>> = {},
) {
  const needed = Object.fromEntries(required.map((name) => [name, checks[name]]));
  return { required, known: { ...needed, ...optional } as Readonly<Record<string, Check>> };
}

/**
 * Checks the argument of a method.
 *
 * @throws StoreError `INVALID_ARGUMENT` that names the method, the field and what it must be.
 */
export function checkRequest(method: keyof typeof requests, request: unknown): void {
  const { required, known } = requests[method];
  checkValue(method, "the request", isObject, request);
  checkOptions(method, request, known, required);
  if (method === "getSession")
    checkOptions("getSession: config", Reflect.get(Object(request), "config"), configChecks);
}

/** Checks the arguments of `appendEvent`. @throws StoreError `INVALID_ARGUMENT`. */
export function checkAppend(request: unknown): void {
  checkValue("appendEvent", "the request", isObject, request);
  checkOptions("appendEvent", request, { session: isObject, event: isObject }, ["session", "event"]);
  const { session, event } = request as { session: Partial<Session>; event: Partial<SessionEvent> };
  const need = (name: string, check: Check, value: unknown) => checkValue("appendEvent", name, check, value);
  need("session.id", isSessionId, session.id);
  need("session.appName", isId, session.appName);
  need("session.userId", isId, session.userId);
  need("session.state", isPlainObject, session.state);
  need("session.events", isEvents, session.events);
  if (event.partial === true) return;
  need("event.id", isId, event.id);
  need("event.author", isText, event.author);
  need("event.timestamp", isTime, event.timestamp);
  if (event.partial != null) need("event.partial", isBoolean, event.partial);
  if (event.actions != null) need("event.actions", isPlainObject, event.actions);
  if (event.actions?.stateDelta != null)
    need("event.actions.stateDelta", isPlainObject, event.actions.stateDelta);
}

/** Checks the options of the service. @throws StoreError `INVALID_ARGUMENT`. */
export function checkServiceOptions(options: unknown): void {
  const checks = {
    stores: isStoreFactory("events"),
    staleWriter: isOneOf("reject", "reload"),
    usedEventId: isOneOf("refuse", "replace"),
    now: isFunction,
    clock: hasMethods("wall", "monotonic", "sleep", "timer"),
  };
  checkOptions("SessionService", options, checks, ["stores"]);
}
