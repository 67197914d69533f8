import { type CreateEventParams, createEvent, type Event } from "@google/adk";
import type { SessionEvent } from "@scrollback/sessions";

/**
 * Converts an ADK event to a session's event: plain data without the brand that ADK adds, and with the author `""` if it has
 * none.
 */
export function toSessionEvent({ id, author = "", timestamp, ...fields }: Event): SessionEvent {
  return { ...(plain(fields) as Record<string, unknown>), id, author, timestamp };
}

/** Converts a stored event back to ADK's event. */
export function toAdkEvent({ author, ...stored }: SessionEvent): Event {
  const fields: Record<string, unknown> = author === "" ? stored : { ...stored, author };
  return createEvent(fields as CreateEventParams);
}

const MAX_DEPTH = 1_000;

/**
 * Copies a value without symbol keys, and replaces instances of the model clients' classes, which contain only fields, by plain
 * objects. The session service rejects other values that are not plain data.
 */
export function plain(value: unknown, depth = 0): unknown {
  // The stores refuse what is nested deeper, and so cycles.
  if (depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) return value.map((inner) => plain(inner, depth + 1));
  if (typeof value !== "object" || value === null || !isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner, depth + 1)]));
}

const builtIns = [Date, Map, Set, RegExp, URL, Error, ArrayBuffer, Promise, WeakMap, WeakSet];

function isFields(value: object): boolean {
  return !ArrayBuffer.isView(value) && !builtIns.some((type) => value instanceof type);
}
