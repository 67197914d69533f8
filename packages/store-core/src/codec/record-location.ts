/**
 * The kind of a message for trimming, one letter:
 *
 * - `s`: a system message
 * - `u`: a user's message without a tool result
 * - `t`: a message with a tool result, or of the role tool
 * - `c`: a message to which the next one belongs: it makes a tool call, or it is reasoning alone
 * - `b`: a message with a tool result that makes a tool call too
 * - `k`: a message that stands for the messages before it, as a compaction item does, without a tool call or result: a kept one must
 *   not need messages that are trimmed
 * - `o`: any other message
 */
export type MessageKind = "s" | "u" | "t" | "c" | "b" | "k" | "o";

/** The kind of a record: a message's, `m` for metadata, or `e` for an entry of an index. */
type RecordKind = MessageKind | "m" | "e";

/** The thread that a record belongs to, its kind, and its time. */
export interface RecordLocation {
  /** For an entry of an index: the JSON of the index's name, the key and the id. */
  readonly threadId: string;
  readonly kind: RecordKind;
  /** The time that is stored beside a message, in milliseconds since 1970: an integer of at most 13 digits. Absent for metadata. */
  readonly createdAt?: number | undefined;
}

/** The place of an entry of an index. */
export interface EntryLocation {
  readonly index: string;
  readonly key: string;
  readonly id: string;
}

/** A record's location and the write that it comes from. A write has no two values of the same kind and index. */
export interface RecordWrite extends RecordLocation {
  readonly operationId: string;
  /** Which of the write's messages it is, from 0; 0 for metadata. */
  readonly index: number;
}
