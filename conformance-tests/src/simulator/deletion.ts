import type { Revision } from "@scrollback/store-core";

/** A deletion that a caller tries to make until it knows what came of it. */
export interface Deletion {
  readonly id: string;
  readonly threadId: string;
  /** The revision to expect, where the deletion expects one. */
  readonly expectedRevision: Revision | null | undefined;
  /**
   * The step of the thread's history that it made, its row, whether the thread was over before, so that it ended nothing, and
   * when the row was sent; undefined until then.
   */
  made:
    | { readonly step: number; readonly row: number; readonly wasOver: boolean; readonly sentAt: number }
    | undefined;
}

/** What a deletion says in the trace. */
export function describeDeletion({ id, expectedRevision }: Deletion): string {
  return `delete ${id}${expectedRevision === undefined ? "" : `, expected ${expectedRevision}`}`;
}
