import { type CreateEventParams, createEvent, type Event } from "@google/adk";
import type { SessionEvent } from "@scrollback/sessions";

/**
 * An ADK event as a session stores it: plain data, without the brand that ADK puts on its events, and with the author ""
 * where there is none.
 */
export function toSessionEvent({ id, author = "", timestamp, ...fields }: Event): SessionEvent {
  return { ...(plain(fields) as Record<string, unknown>), id, author, timestamp };
}

/** A stored event as ADK made it. */
export function toAdkEvent({ author, ...stored }: SessionEvent): Event {
  const fields: Record<string, unknown> = author === "" ? stored : { ...stored, author };
  return createEvent(fields as CreateEventParams);
}

/**
 * A copy without symbol keys and without the classes of the model clients, whose instances carry nothing but their fields.
 * What else plain data is not is left for the session service to refuse.
 */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || !isFields(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]));
}

const builtIns = [Date, Map, Set, RegExp, URL, Error, ArrayBuffer, Promise, WeakMap, WeakSet];

function isFields(value: object): boolean {
  return !ArrayBuffer.isView(value) && !builtIns.some((type) => value instanceof type);
}
