import type { Codec } from "./codec.ts";
import { StoreError } from "./errors.ts";
import type { MessageKind } from "./message.ts";

/**
 * A record is what a driver stores for one message (or for a thread's metadata): the format version, one letter for
 * the kind, then the codec's text.
 *
 * @example `1u{"role":"user","content":"Hello"}`
 */
const FORMAT_VERSION = "1";

/** The kind of a record: a message's, or `m` for metadata. */
export type RecordKind = MessageKind | "m";
const recordKinds: readonly RecordKind[] = ["s", "u", "o", "t", "m"];

/** Where a record belongs. */
export interface RecordPlace {
  readonly threadId: string;
  readonly kind: RecordKind;
}

/** A record's place and the write that it comes from. A write has no two values of the same kind and index. */
export interface RecordWrite extends RecordPlace {
  readonly operationId: string;
  /** Which of the write's messages it is, from 0; 0 for metadata. */
  readonly index: number;
}

/** Makes a record of an encoded value. */
export function formatRecord(kind: RecordKind, text: string): string {
  return FORMAT_VERSION + kind + text;
}

/** The kind of a message's record, for trimming; `o` for a record that cannot be read. */
export function kindOfRecord(record: string): MessageKind {
  const kind = record[1];
  return kind === "s" || kind === "u" || kind === "t" ? kind : "o";
}

/**
 * Reads a record back.
 *
 * @param sequence the message's number; undefined for the thread's metadata.
 * @throws StoreError `CORRUPT` with `sequence` when it is no record, of a newer format version, or refused by the codec.
 */
export function parseRecord(
  codec: Codec,
  record: unknown,
  threadId: string,
  sequence: number | undefined,
): unknown {
  const where = `${sequence === undefined ? "the metadata" : `message ${sequence}`} of thread "${threadId}"`;
  const corrupt = (problem: string, cause?: unknown) =>
    new StoreError("CORRUPT", `${where} cannot be read: ${problem}`, { cause, sequence });
  if (typeof record !== "string" || record.length < 3) throw corrupt("it is no record of Scrollback");
  if (record[0] !== FORMAT_VERSION) {
    const version = /^[2-9]/.test(record) ? record[0] : undefined;
    throw corrupt(
      version
        ? `it has format version ${version}, this package reads up to ${FORMAT_VERSION}; upgrade @scrollback/store-core`
        : "it is no record of Scrollback",
    );
  }
  const kind = recordKinds.find((one) => one === record[1]);
  if (!kind || (kind === "m") !== (sequence === undefined)) throw corrupt("it is no record of Scrollback");
  try {
    return codec.decode(record.slice(2), { threadId, kind });
  } catch (cause) {
    const known = StoreError.is(cause) ? cause.message : undefined;
    throw corrupt(known ?? "the codec refused it; was it written with another codec?", cause);
  }
}
