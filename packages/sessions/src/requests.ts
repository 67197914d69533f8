import { StoreError } from "@scrollback/store-core";
import {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  isObject,
  isOneOf,
} from "@scrollback/store-core/driver";
import { isBoolean, isCount, isFunction } from "@scrollback/store-core/internal";
import type { Session, SessionEvent } from "./session.ts";

const isTime: Check = (value) =>
  typeof value === "number" && Number.isFinite(value) ? undefined : "must be a number of seconds since 1970";

const isSessionId: Check = (value) =>
  typeof value === "string" && value.trim() === "" ? "must be a string that is not blank" : isId(value);

/** A blank value counts as absent. */
const isSessionIdOrBlank: Check = (value) =>
  typeof value === "string" && value.trim() === "" ? undefined : isId(value);

const isLimit: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 && (value as number) <= 100
    ? undefined
    : "must be an integer from 1 to 100";

const isToken: Check = (value) => (typeof value === "string" ? undefined : "must be a nextPageToken");

/** Accepts only plain objects: a Map or a State would be stored empty. */
const isValues: Check = (value) => {
  const problem = isObject(value);
  if (problem) return problem;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null
    ? undefined
    : "must be a plain object";
};

const isTitleOrNull: Check = (value) => (value === null ? undefined : isId(value));

const checks = {
  appName: isId,
  userId: isId,
  sessionId: isSessionId,
  state: isValues,
  limit: isLimit,
  pageToken: isToken,
  order: isOneOf("desc", "asc"),
};
type Field = keyof typeof checks | "title" | "config";

const configChecks = { numRecentEvents: isCount, afterTimestamp: isTime };

const ofNew = { state: isValues, title: isId, sessionId: isSessionIdOrBlank };

const requests = {
  createSession: fields(["appName", "userId"], ofNew),
  getOrCreateSession: fields(["appName", "userId"], ofNew),
  getSession: fields(["appName", "userId", "sessionId"], { config: isObject }),
  updateSession: fields(["appName", "userId", "sessionId"], { title: isTitleOrNull, state: isValues }),
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
  const problem = isObject(request);
  if (problem) invalid(`${method}: the request ${problem}`);
  checkOptions(method, request, known);
  const values = request as Record<string, unknown>;
  for (const name of required) {
    if (values[name] === undefined) invalid(`${method}: ${name} ${checks[name](undefined)}`);
  }
  if (method === "getSession") checkOptions("getSession: config", values.config, configChecks);
}

/** Checks the arguments of `appendEvent`. @throws StoreError `INVALID_ARGUMENT`. */
export function checkAppend(request: unknown): void {
  const problem = isObject(request);
  if (problem) invalid(`appendEvent: the request ${problem}`);
  checkOptions("appendEvent", request, { session: isObject, event: isObject });
  const { session, event } = request as { session?: Partial<Session>; event?: Partial<SessionEvent> };
  if (session === undefined || event === undefined) {
    throw new StoreError("INVALID_ARGUMENT", "appendEvent: session and event must be given");
  }
  const need = (name: string, found: string | undefined) => found && invalid(`appendEvent: ${name} ${found}`);
  need("session.id", isSessionId(session.id));
  need("session.appName", isId(session.appName));
  need("session.userId", isId(session.userId));
  need("session.state", isValues(session.state));
  need("session.events", Array.isArray(session.events) ? undefined : "must be a list of events");
  if (event.partial === true) return;
  need("event.id", isId(event.id));
  need("event.author", typeof event.author === "string" ? undefined : "must be a string");
  need("event.timestamp", isTime(event.timestamp));
  if (event.partial != null) need("event.partial", isBoolean(event.partial));
  if (event.actions != null) need("event.actions", isValues(event.actions));
  if (event.actions?.stateDelta != null) need("event.actions.stateDelta", isValues(event.actions.stateDelta));
}

/** Checks the options of the service. @throws StoreError `INVALID_ARGUMENT`. */
export function checkServiceOptions(options: unknown): void {
  const isStores = hasMethods("withTraits");
  checkOptions("SessionService", options, {
    stores: isStores,
    staleWriter: isOneOf("reject", "reload"),
    usedEventId: isOneOf("refuse", "replace"),
    now: isFunction,
    clock: hasMethods("wall", "monotonic", "sleep", "timer"),
  });
  const { stores } = (options ?? {}) as { stores?: { settings?: { maxMessages?: number } } };
  if (stores === undefined) invalid("SessionService: stores must be a store factory");
  if (stores?.settings?.maxMessages !== undefined) {
    invalid(
      "SessionService: stores must not have maxMessages, which would delete events; use a factory without it",
    );
  }
}
