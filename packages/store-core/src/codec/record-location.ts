import type { MessageKind } from "../message/message.ts";

/** The kind of a record: a message's, `m` for metadata, or `e` for an entry of an index. */
export type RecordKind = MessageKind | "m" | "e";

/** The thread that a record belongs to, its kind, and its time. */
export interface RecordLocation {
  /** For an entry of an index: the JSON of the index's name, the key and the id. */
  readonly threadId: string;
  readonly kind: RecordKind;
  /** The time that is stored beside a message, in milliseconds since 1970: an integer of at most 13 digits. Absent for metadata. */
  readonly createdAt?: number | undefined;
}

/** A record's location and the write that it comes from. A write has no two values of the same kind and index. */
export interface RecordWrite extends RecordLocation {
  readonly operationId: string;
  /** Which of the write's messages it is, from 0; 0 for metadata. */
  readonly index: number;
}
