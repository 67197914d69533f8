import { invalid } from "../arguments.ts";
import { decodeText, encodeText } from "../codec/base64.ts";
import { randomId } from "../random.ts";

/**
 * The state of a thread: an opaque string that changes with every commit and is never reused, not even after `clear` or
 * expiry. `null` is the revision of a thread that does not exist (never written, expired or deleted).
 */
export type Revision = string;

/**
 * The revision of commit number `n` (from 1) in `incarnation`.
 *
 * @param tag random characters of base64url, for a backend on which a commit can be undone, such as by a rollback: the next one gets the
 *   same number.
 */
export function formatRevision(incarnation: string, n: number, tag?: string): Revision {
  return tag === undefined ? `${incarnation}.${n}` : `${incarnation}.${n}-${tag}`;
}

/** The parts of a revision of {@link formatRevision}. The incarnation has no dot. */
export function parseRevision(revision: Revision): { readonly incarnation: string; readonly number: number } {
  const dot = revision.lastIndexOf(".");
  return { incarnation: revision.slice(0, dot), number: Number.parseInt(revision.slice(dot + 1), 10) };
}

/** A random incarnation: 16 characters of base64url. */
export function newIncarnation(): string {
  return randomId(12);
}

/** An opaque position in a thread, for `before` and `after` of `ReadOptions`. Valid in every process. */
export type Cursor = string;

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
  return encodeText(`1:${parseRevision(revision).incarnation}:${sequence}`);
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
  const text = (typeof cursor === "string" && decodeText(cursor)) || "";
  const match = /^1:([\w-]{1,64}):(\d{1,15})$/.exec(text);
  if (!match) return invalid(`${what} must be a cursor that read() gave as older or newer`);
  return { incarnation: match[1] ?? "", sequence: Number(match[2]) };
}
