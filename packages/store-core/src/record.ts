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
const recordKinds = "suotm";

/** The kind of a record: a message's, or `m` for metadata. */
export type RecordKind = MessageKind | "m";

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
 * @param where what the record is, for the message: `message 12 of thread "a"`.
 * @throws StoreError `CORRUPT` with `sequence` when it is no record, of a newer format version, or refused by the codec.
 */
export function parseRecord(codec: Codec, record: unknown, where: string, sequence?: number): unknown {
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
  if (!recordKinds.includes(record[1] ?? "")) throw corrupt("it is no record of Scrollback");
  try {
    return codec.decode(record.slice(2));
  } catch (cause) {
    throw corrupt("the codec refused it; was it written with another codec?", cause);
  }
}
