import type { MessageKind } from "./message.ts";

/** The kind of a record: a message's, or `m` for metadata. */
export type RecordKind = MessageKind | "m";

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
