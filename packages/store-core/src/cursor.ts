import { invalid } from "./arguments.ts";
import type { Cursor, Revision } from "./store.ts";

/** What a cursor says: a place between messages, in the epoch that it was seen in. */
export interface CursorPlace {
  readonly epoch: string;
  readonly sequence: number;
}

/** The part of a revision that is the same from a thread's first commit until it expires. */
export function epochOf(revision: Revision): string {
  return revision.slice(0, revision.lastIndexOf("."));
}

/** Makes the cursor for `before` or `after` a sequence number. */
export function formatCursor(revision: Revision, sequence: number): Cursor {
  return Buffer.from(`1:${epochOf(revision)}:${sequence}`).toString("base64url");
}

/** Reads a cursor back. @throws StoreError `INVALID_ARGUMENT` for a string that is none. */
export function parseCursor(name: "before" | "after", cursor: unknown): CursorPlace {
  const text = typeof cursor === "string" ? Buffer.from(cursor, "base64url").toString() : "";
  const match = /^1:([\w-]{1,64}):(\d{1,15})$/.exec(text);
  if (!match) return invalid(`${name} must be a cursor that read() gave as older or newer`);
  return { epoch: match[1] ?? "", sequence: Number(match[2]) };
}
