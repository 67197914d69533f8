import { type Check, isCount, isObject } from "../arguments.ts";
import { StoreError, type StoreErrorOptions } from "../errors.ts";
import { type Codec, jsonCodec } from "./codec.ts";
import type { EntryLocation, MessageKind, RecordLocation } from "./record-location.ts";

/** A message as a driver stores and returns it. */
export interface MessageRecord {
  /** One letter, for trimming. */
  readonly kind: MessageKind;
  /** In milliseconds since 1970: an integer of at most 13 digits. */
  readonly createdAt: number;
  /** The codec's text, opaque: a well-formed string, never empty. */
  readonly text: string;
}

/** A message of a thread, as a driver returns it. */
export interface ThreadEntry extends MessageRecord {
  readonly sequence: number;
}

/** What a driver returns in place of a message that should be stored and is not. */
export const MISSING_MESSAGE: MessageRecord = Object.freeze({ kind: "o", createdAt: 0, text: "" });

const MESSAGE_KINDS = ["s", "u", "t", "c", "b", "k", "o"] satisfies MessageKind[];
const MAX_TIME = 10 ** 13 - 1;

/** A time that a record can have: milliseconds since 1970, an integer of at most 13 digits. */
export const isRecordTime: Check = (value) =>
  isCount(value) === undefined && (value as number) <= MAX_TIME
    ? undefined
    : `must be a time in milliseconds since 1970, an integer from 0 to ${MAX_TIME}`;

/** What is wrong with a message's record of unknown origin, for an error; undefined: nothing. */
export function recordProblem({
  kind,
  createdAt,
  text,
}: {
  readonly [field in keyof MessageRecord]?: unknown;
}): string | undefined {
  if (!(MESSAGE_KINDS as unknown[]).includes(kind)) return "its kind is unknown";
  if (isRecordTime(createdAt)) return "its time is invalid";
  if (typeof text !== "string") return "it has no text";
  return text === "" ? "its record is missing" : undefined;
}

/**
 * Decodes a message.
 *
 * @throws StoreError `CORRUPT` with `sequence` if the record has an unknown kind, an invalid time or no text, is refused by the codec, or
 *   is of a message that is not an object.
 */
export function decodeMessage(
  codec: Codec,
  record: MessageRecord,
  threadId: string,
  sequence: number,
): unknown {
  const where = () => `message ${sequence} of thread "${threadId}"`;
  const found = { sequence, threadId };
  const damage = recordProblem(record);
  if (damage) throw corruptRecord(where(), damage, found);
  const { kind, createdAt, text } = record;
  const message = decodeText(codec, text, { threadId, kind, createdAt }, where, found);
  const problem = isObject(message);
  if (problem !== undefined) throw corruptRecord(where(), `the message ${problem}`, found);
  return message;
}

/** Decodes a thread's metadata. @throws StoreError `CORRUPT` if the codec refuses it. */
export function decodeMetadata(codec: Codec, text: string, threadId: string): unknown {
  return decodeText(codec, text, { threadId, kind: "m" }, () => `the metadata of thread "${threadId}"`, {
    threadId,
  });
}

/** Decodes the value of an entry of an index. @throws StoreError `CORRUPT` if the codec refuses it. */
export function decodeEntry(codec: Codec, text: string, place: EntryLocation): unknown {
  const location = { threadId: codec === jsonCodec ? "" : bindingOf(place), kind: "e" } as const;
  return decodeText(codec, text, location, () => `an entry of index "${place.index}" (key "${place.key}")`);
}

/** The location to which the value of an entry is bound. Not made for JSON, which ignores it: a page has many entries. */
export function bindingOf({ index, key, id }: EntryLocation): string {
  return JSON.stringify([index, key, id]);
}

function decodeText(
  codec: Codec,
  text: string,
  location: RecordLocation,
  where: () => string,
  found: Pick<StoreErrorOptions, "sequence" | "threadId"> = {},
): unknown {
  try {
    return codec.decode(text, location);
  } catch (cause) {
    const known = StoreError.is(cause) ? cause.message : undefined;
    const problem = known ?? "the codec refused it: it is damaged, or was written with another codec or key";
    throw corruptRecord(where(), problem, { ...found, cause });
  }
}

function corruptRecord(where: string, problem: string, options: StoreErrorOptions = {}): StoreError {
  return new StoreError("CORRUPT", `${where} cannot be read: ${problem}`, options);
}
