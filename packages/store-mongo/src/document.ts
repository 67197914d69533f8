import { type Head, type HeadsRequest, type Page, type StoredMessage, tokenOf } from "@scrollback/documents";
import { StoreError } from "@scrollback/store-core";
import type { MessageRecord } from "@scrollback/store-core/driver";
import type { BSONSerializeOptions } from "mongodb";

/**
 * How documents and errors are written and read, whatever the client's own options are. Bytes are read as `Buffer`, because the client can
 * be of another copy of `mongodb`, with another class `Binary`. All else is the default of `mongodb`.
 */
export const representation: BSONSerializeOptions = Object.freeze({
  raw: false,
  promoteValues: true,
  promoteLongs: true,
  promoteBuffers: true,
  useBigInt64: false,
  bsonRegExp: false,
  fieldsAsRaw: {},
  checkKeys: false,
  ignoreUndefined: false,
  serializeFunctions: false,
  enableUtf8Validation: true,
});

/** The version of the layout of heads and pages. */
const FORMAT = 1;

/** What a person reads, for each kind of message. */
export const roles = Object.freeze({
  s: "system",
  u: "user",
  t: "tool",
  c: "call",
  b: "tool-call",
  k: "compaction",
  o: "assistant",
}) satisfies Readonly<Record<MessageRecord["kind"], string>>;

const kinds: ReadonlyMap<unknown, MessageRecord["kind"]> = new Map(
  (Object.keys(roles) as MessageRecord["kind"][]).map((kind) => [roles[kind], kind]),
);

/** A message in a head or a page. */
export interface MessageDocument {
  /** Its sequence number. */
  readonly n: number;
  readonly role: (typeof roles)[MessageRecord["kind"]];
  readonly at: Date;
  /** The codec's text. */
  readonly record: string;
}

/** The document of a thread. */
export interface HeadDocument
  extends Omit<Head, "incarnation" | "n" | "tail" | "pins" | "operations" | `${string}At` | "until"> {
  /** The thread id. Pages have objects as `_id`, so that heads and pages are different ranges. */
  readonly _id: string;
  readonly format: number;
  /** The incarnation and `n`: the condition of each replacement. */
  readonly revision: string;
  /** The tail. */
  readonly messages: readonly MessageDocument[];
  readonly pins: readonly MessageDocument[];
  readonly operations: Uint8Array;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly expiresAt?: Date;
  /** The field of the TTL index. */
  readonly until?: Date;
}

export interface PageKey {
  readonly thread: string;
  readonly page: string;
}

/** The document of a page. */
export interface PageDocument {
  readonly _id: PageKey;
  readonly messages: readonly MessageDocument[];
  readonly until?: Date;
}

export const pageKey = (thread: string, page: string): PageKey => ({ thread, page });

/** The filter for all pages of a thread: `~` comes after every character of a page's id. */
export const pagesOf = (threadId: string) => ({ $gte: pageKey(threadId, ""), $lt: pageKey(threadId, "~") });

/** Sorts after every possible rest of a name of 1,024 bytes. */
const LAST_NAME = "\u{10ffff}".repeat(257);

/** The filter for names that begin with `prefix` and come after `after`, in byte order. */
export function namesIn({ prefix, after }: Pick<HeadsRequest, "prefix" | "after">): {
  $gte?: string;
  $gt?: string;
  $lt: string;
} {
  return { ...(after === undefined ? { $gte: prefix } : { $gt: after }), $lt: prefix + LAST_NAME };
}

/** The latest time that a Date can hold, in milliseconds since 1970. The earliest is its negative. */
const LAST_MOMENT = 8.64e15;

/** Converts a time to a Date. A time out of range becomes the nearest possible one. */
export function toDate(milliseconds: number): Date {
  return new Date(Math.max(-LAST_MOMENT, Math.min(milliseconds, LAST_MOMENT)));
}

export function toMessage({ sequence, kind, createdAt, text }: StoredMessage): MessageDocument {
  return { n: sequence, role: roles[kind], at: toDate(createdAt), record: text };
}

/** The document of a head without its messages. */
export function fieldsOf(threadId: string, head: Head): Omit<HeadDocument, "messages"> {
  const { incarnation, n, tail: _, pins, operations, createdAt, updatedAt, expiresAt, until, ...rest } = head;
  const fields = {
    _id: threadId,
    format: FORMAT,
    revision: tokenOf({ incarnation, n }),
    createdAt: toDate(createdAt),
    updatedAt: toDate(updatedAt),
    ...(expiresAt !== undefined && { expiresAt: toDate(expiresAt) }),
    ...(until !== undefined && { until: toDate(until) }),
    ...rest,
    pins: pins.map(toMessage),
    operations,
  };
  const present = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(present) as typeof fields;
}

export function toDocument(threadId: string, head: Head): HeadDocument {
  return { ...fieldsOf(threadId, head), messages: head.tail.map(toMessage) };
}

export function toPageDocument(threadId: string, { id, messages, until }: Page): PageDocument {
  const _id = pageKey(threadId, id);
  return { _id, messages: messages.map(toMessage), ...(until !== undefined && { until: toDate(until) }) };
}

/** Any values in place of the fields of a document. */
export type Stored<Document> = Partial<Record<keyof Document, unknown>>;

/** The head of a document; undefined if it is damaged. */
export function toHead(document: Stored<HeadDocument>): Head | undefined {
  const { _id, format, revision, messages, pins, operations, isDead, ...rest } = document;
  const [, incarnation, n] = /^([\w-]{16})\.([1-9]\d*)$/.exec(String(revision)) ?? [];
  const [createdAt, updatedAt, expiresAt, until] = [
    rest.createdAt,
    rest.updatedAt,
    rest.expiresAt,
    rest.until,
  ].map(timeOf);
  const [tail, pinned] = [messagesOf(messages), messagesOf(pins)];
  const isReadable =
    format === FORMAT &&
    isCount(Number(n)) &&
    [rest.first, rest.next, rest.newestCompaction, createdAt, updatedAt].every(isCount) &&
    [rest.pinned, rest.compaction].every((sequence) => sequence === null || isCount(sequence)) &&
    [expiresAt, until].every((time) => time === undefined || isCount(time)) &&
    // Which element is missing in a list is not known, so every message must have its number.
    [tail, pinned].every((list) => list?.every(({ sequence }) => isCount(sequence))) &&
    isListOf(rest.pages, isPageEntry) &&
    isListOf(rest.leaving, isText) &&
    [undefined, true].includes(isDead as true) &&
    (rest.former === undefined || isText(rest.former)) &&
    (rest.metadata === undefined || isMetadata(rest.metadata)) &&
    operations instanceof Uint8Array;
  if (!isReadable) return undefined;
  const fields = { incarnation, n: Number(n), ...rest, tail, pins: pinned, operations };
  return { ...fields, isDead, createdAt, updatedAt, expiresAt, until } as Head;
}

/** @throws StoreError `UNSUPPORTED` for a head of a newer version of this package, which is not damaged. */
export function checkFormat({ format }: Stored<HeadDocument>): void {
  if (isCount(format) && format > FORMAT) {
    const message = `the thread has the format ${format}, which a newer version of @scrollback/store-mongo wrote; use that version`;
    throw new StoreError("UNSUPPORTED", message);
  }
}

/** The page of a document, without messages that have no number. */
export function toPage({ _id, messages, until }: Stored<PageDocument>): Page {
  const found = messagesOf(messages)?.filter(({ sequence }) => isCount(sequence)) ?? [];
  const time = timeOf(until);
  return { id: String(fieldsIn(_id).page), messages: found, ...(isCount(time) && { until: time }) };
}

/** The messages of a list; undefined if it is none. A text of the wrong type, and another role, are `""`, another time is NaN. */
function messagesOf(stored: unknown): StoredMessage[] | undefined {
  if (!Array.isArray(stored)) return undefined;
  return stored.map((message): StoredMessage => {
    const { n, role, at, record } = fieldsIn(message);
    const createdAt = timeOf(at);
    return {
      sequence: isCount(n) ? n : Number.NaN,
      // Store-core refuses a kind and a time that are none.
      kind: kinds.get(role) ?? ("" as MessageRecord["kind"]),
      createdAt: isCount(createdAt) ? createdAt : Number.NaN,
      text: isText(record) ? record : "",
    };
  });
}

function isPageEntry(entry: unknown): boolean {
  const { id, from, upto, bytes, kinds, cut, parts } = fieldsIn(entry);
  return (
    isText(id) &&
    [from, upto, bytes].every(isCount) &&
    (kinds === undefined || isText(kinds)) &&
    [cut, parts].every((count) => count === undefined || isCount(count))
  );
}

function isMetadata(value: unknown): boolean {
  const { text, page } = fieldsIn(value);
  return isText(text) || isText(page);
}

const isText = (value: unknown): value is string => typeof value === "string";
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const isListOf = (value: unknown, isElement: (element: unknown) => boolean) =>
  Array.isArray(value) && value.every(isElement);

/** A Date in milliseconds. Other values stay as they are. */
const timeOf = (value: unknown): unknown => (value instanceof Date ? value.getTime() : value);

/** The fields of a value; none if it is no object. */
const fieldsIn = (value: unknown): Readonly<Record<string, unknown>> => Object(value);
