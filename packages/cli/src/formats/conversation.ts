import { isObject } from "@scrollback/store-core/driver";

export type Fields = Readonly<Record<string, unknown>>;

/** A conversation of another application's export: the messages of its current path. */
export interface Conversation {
  readonly id: string;
  readonly title: string | undefined;
  readonly createdAt: number | undefined;
  readonly updatedAt: number | undefined;
  readonly archived: boolean;
  readonly pinned: boolean;
  readonly messages: readonly ConversationMessage[];
}

/** A message in the shape of the AI SDK's `UIMessage`. */
export interface ConversationMessage {
  readonly message: {
    readonly id: string;
    readonly role: "user" | "assistant";
    readonly parts: readonly Fields[];
    readonly metadata?: Fields;
  };
  readonly createdAt: number | undefined;
  readonly status: "complete" | "stopped" | "failed";
}

/** Reads a conversation. Adds to `leftOut` what a chat does not take. @throws ConversationError */
export type ReadConversation = (value: Fields, leftOut: LeftOut) => Conversation;

/** Makes a conversation unreadable. The message is for the user. */
export class ConversationError extends Error {}

/** Counts what is not imported, by kind. */
export class LeftOut {
  readonly counts = new Map<string, number>();

  add(kind: string, count = 1): void {
    if (count > 0) this.counts.set(kind, (this.counts.get(kind) ?? 0) + count);
  }
}

/** The ids from the root of a tree to a message. */
export function pathTo(
  last: string,
  nodes: ReadonlyMap<string, unknown>,
  parentOf: (node: Fields) => unknown,
): string[] {
  const path = new Set<string>();
  let id: unknown = last;
  while (id != null) {
    if (typeof id !== "string") throw new ConversationError("the parent of a message must be an id");
    if (path.has(id)) throw new ConversationError(`message ${quoted(id)} is its own ancestor`);
    if (!nodes.has(id)) throw new ConversationError(`message ${quoted(id)} of the current path is missing`);
    path.add(id);
    id = parentOf(fieldsAt(nodes.get(id), `message ${quoted(id)}`));
  }
  return [...path].reverse();
}

/** @throws ConversationError if the value is not an object. */
export function fieldsAt(value: unknown, where: string): Fields {
  if (isObject(value)) throw new ConversationError(`${where} must be an object`);
  return value as Fields;
}

/** The fields of a value; none if it is not an object. */
export function fieldsOf(value: unknown): Fields {
  return isObject(value) ? {} : (value as Fields);
}

/** @throws ConversationError if the value is not a non-empty text. */
export function idAt(value: unknown, where: string): string {
  if (typeof value !== "string" || value === "") throw new ConversationError(`${where} must be a text`);
  return value;
}

/** A list; empty if there is none. @throws ConversationError for another value. */
export function listAt(value: unknown, where: string): readonly unknown[] {
  if (value == null) return [];
  if (!Array.isArray(value)) throw new ConversationError(`${where} must be a list`);
  return value;
}

export function textOr<T>(value: unknown, other: T): string | T {
  return typeof value === "string" ? value : other;
}

/** From this number on a time is in milliseconds, before it in seconds: as seconds it is the year 5138. */
const MILLISECONDS_FROM = 1e11;
/** The last time of a `Date`. */
const LAST_TIME = 8.64e15;

/** Milliseconds since 1970, of a number of seconds or milliseconds, or of an ISO date. */
export function timeOf(value: unknown): number | undefined {
  const time =
    typeof value === "number"
      ? value * (value < MILLISECONDS_FROM ? 1_000 : 1)
      : Date.parse(textOr(value, ""));
  // A missing time is 0 in some files.
  return time > 0 && time <= LAST_TIME ? Math.floor(time) : undefined;
}

/** An id for an error message. */
export function quoted(id: string): string {
  return JSON.stringify(id.slice(0, 100));
}
