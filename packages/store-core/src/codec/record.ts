import { type Check, isCount, isObject } from "../arguments.ts";
import { StoreError, type StoreErrorOptions } from "../errors.ts";
import { type Codec, jsonCodec } from "./codec.ts";
import type { EntryLocation, MessageKind, RecordKind, RecordLocation } from "./record-location.ts";

/**
 * A record is what a driver stores for one message (or for a thread's metadata): the format version, one letter for
 * the kind, a message's time in milliseconds since 1970 as 13 digits, then the codec's text.
 *
 * @example `1u1795348800000{"role":"user","content":"Hello"}`
 */
const FORMAT_VERSION = "1";
const TIME_DIGITS = 13;
/** The index at which the codec's text begins. */
const METADATA_START = 2;
const MESSAGE_START = METADATA_START + TIME_DIGITS;

/** A time that a record can have: milliseconds since 1970, an integer of at most 13 digits. */
export const isRecordTime: Check = (value) =>
  isCount(value) === undefined && (value as number) < 10 ** TIME_DIGITS
    ? undefined
    : "must be a time in milliseconds since 1970, an integer from 0 to 9999999999999";

/** Makes the record of a message from its encoded value. @param createdAt see {@link isRecordTime}. */
export function formatRecord(kind: MessageKind, createdAt: number, text: string): string {
  return FORMAT_VERSION + kind + String(createdAt).padStart(TIME_DIGITS, "0") + text;
}

/** Makes the record of metadata from its encoded value. */
export function formatMetadataRecord(text: string): string {
  return `${FORMAT_VERSION}m${text}`;
}

/** Makes the record of an entry of an index from its encoded value. */
export function formatEntryRecord(text: string): string {
  return `${FORMAT_VERSION}e${text}`;
}

/** Decodes the value of an entry's record. @throws StoreError `CORRUPT`, as {@link decodeRecord}. */
export function decodeEntryRecord(codec: Codec, record: unknown, place: EntryLocation): unknown {
  const where = () => `an entry of index "${place.index}" (key "${place.key}")`;
  if (typeof record !== "string" || !entryRecord.test(record))
    throw corruptRecord(where(), problemOf(record));
  const location = { threadId: codec === jsonCodec ? "" : bindingOf(place), kind: "e" } as const;
  return decodeText(codec, record.slice(METADATA_START), location, where);
}

/** The location to which the value of an entry is bound. Not made for JSON, which ignores it: a page has many entries. */
export function bindingOf({ index, key, id }: EntryLocation): string {
  return JSON.stringify([index, key, id]);
}

/** The record of a message without its time: equal for two writes of the same message. */
export function timelessRecord(record: string): string {
  return record.slice(0, METADATA_START) + record.slice(MESSAGE_START);
}

/** The kind of a message's record, for trimming; `o` for an unreadable record. */
export function kindOfRecord(record: string): MessageKind {
  const kind = record[1];
  return kind !== undefined && "sutcbk".includes(kind) ? (kind as MessageKind) : "o";
}

/** The time of a message's record, as {@link decodeRecord} accepts it: milliseconds since 1970. */
export function timeOfRecord(record: string): number {
  return Number(record.slice(METADATA_START, MESSAGE_START));
}

const messageRecord = new RegExp(`^${FORMAT_VERSION}[sutcbko]\\d{${TIME_DIGITS}}`);
const metadataRecord = new RegExp(`^${FORMAT_VERSION}m`);
const entryRecord = new RegExp(`^${FORMAT_VERSION}e`);

/**
 * Decodes the value of a record.
 *
 * @param sequence the message's number; undefined for the thread's metadata.
 * @throws StoreError `CORRUPT` with `sequence` if it is not a record, has a newer format version, is refused by the codec, or is a
 *   message that is not an object.
 */
export function decodeRecord(
  codec: Codec,
  record: unknown,
  threadId: string,
  sequence: number | undefined,
): unknown {
  const isMetadata = sequence === undefined;
  const where = () => `${isMetadata ? "the metadata" : `message ${sequence}`} of thread "${threadId}"`;
  if (typeof record !== "string" || !(isMetadata ? metadataRecord : messageRecord).test(record))
    throw corruptRecord(where(), problemOf(record), { sequence, threadId });
  const kind = record[1] as RecordKind;
  const found = { sequence, threadId };
  if (isMetadata) return decodeText(codec, record.slice(METADATA_START), { threadId, kind }, where, found);
  const location = { threadId, kind, createdAt: timeOfRecord(record) };
  const message = decodeText(codec, record.slice(MESSAGE_START), location, where, found);
  const problem = isObject(message);
  if (problem !== undefined) throw corruptRecord(where(), `the message ${problem}`, found);
  return message;
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

function problemOf(record: unknown): string {
  if (record === "") return "its record is missing";
  const [version] = (typeof record === "string" && /^[2-9]/.exec(record)) || [];
  return version
    ? `it has format version ${version}, this package reads up to ${FORMAT_VERSION}; upgrade @scrollback/store-core`
    : "it is not a Scrollback record";
}

function corruptRecord(where: string, problem: string, options: StoreErrorOptions = {}): StoreError {
  return new StoreError("CORRUPT", `${where} cannot be read: ${problem}`, options);
}
