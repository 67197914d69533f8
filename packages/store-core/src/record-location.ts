import type { MessageKind } from "./message.ts";

/** The kind of a record: a message's, `m` for metadata, or `e` for an entry of an index. */
export type RecordKind = MessageKind | "m" | "e";

/** The thread that a record belongs to, and its kind. */
export interface RecordLocation {
  /** For an entry of an index: the JSON of the index's name, the key and the id. */
  readonly threadId: string;
  readonly kind: RecordKind;
}

/** A record's location and the write that it comes from. A write has no two values of the same kind and index. */
export interface RecordWrite extends RecordLocation {
  readonly operationId: string;
  /** Which of the write's messages it is, from 0; 0 for metadata. */
  readonly index: number;
}
