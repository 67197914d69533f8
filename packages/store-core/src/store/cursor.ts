import { invalid } from "../arguments.ts";
import { parseRevision, type Revision } from "../driver/revision.ts";
import type { Cursor } from "./store.ts";

/** A position between two messages of one incarnation of a thread. */
export interface CursorLocation {
  readonly incarnation: string;
  readonly sequence: number;
}

/** The part of a thread between two cursors; at most one of them is given. */
export interface CursorRange {
  readonly before: CursorLocation | undefined;
  readonly after: CursorLocation | undefined;
}

/**
 * The ends of a range as sequence numbers of the thread at `revision`. A cursor of an expired incarnation stands before
 * the first message.
 */
export function boundsAt(
  revision: Revision | null,
  { before, after }: CursorRange,
): { before: number | undefined; after: number | undefined } {
  const isKnown = ({ incarnation }: CursorLocation) =>
    revision === null || incarnation === parseRevision(revision).incarnation;
  return {
    before: before && (isKnown(before) ? before.sequence : 1),
    after: after && (isKnown(after) ? after.sequence : 0),
  };
}

/**
 * Makes the cursor before or after a sequence number, for the incarnation of `revision`. After 0 is the thread's
 * beginning.
 */
export function formatCursor(revision: Revision, sequence: number): Cursor {
  return Buffer.from(`1:${parseRevision(revision).incarnation}:${sequence}`).toString("base64url");
}

/**
 * Parses a cursor.
 *
 * @param what the method and its option, for the error.
 * @throws StoreError `INVALID_ARGUMENT` for a string that is not a cursor.
 */
export function parseCursor(
  what: "read: before" | "read: after" | "copyThread: upTo",
  cursor: unknown,
): CursorLocation {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  const match = /^1:([\w-]{1,64}):(\d{1,15})$/.exec(text);
  if (!match) return invalid(`${what} must be a cursor that read() gave as older or newer`);
  return { incarnation: match[1] ?? "", sequence: Number(match[2]) };
}
