import type { Revision } from "@scrollback/store-core";
import type { SimulatedCall } from "./client.ts";

/** A deletion that a caller tries to make until it knows what came of it. */
export interface Deletion {
  readonly id: string;
  readonly threadId: string;
  /** The revision to expect, where the deletion expects one. */
  readonly expectedRevision: Revision | null | undefined;
  /** Of the first call: the step that it began after, and the caller's clock. */
  began: Pick<SimulatedCall, "since" | "lowestWall"> | undefined;
  /**
   * The step of the thread's history that it made, its row, whether the thread was over before, so that it ended nothing,
   * when the row was sent, and the root of what it ended; undefined until then.
   */
  made:
    | {
        readonly step: number;
        readonly row: number;
        readonly wasOver: boolean;
        readonly sentAt: number;
        readonly root: number;
      }
    | undefined;
}

/** What a deletion says in the trace. */
export function describeDeletion({ id, expectedRevision }: Deletion): string {
  return `delete ${id}${expectedRevision === undefined ? "" : `, expected ${expectedRevision}`}`;
}
