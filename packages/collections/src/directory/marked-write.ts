import { StoreError } from "@scrollback/store-core";
import type { MarkedNote } from "./marked-notes.ts";
import type { MemberOf, Written } from "./marked-options.ts";

/** The note of a write that was made under a mark. */
export function noteOf<V>(
  { key, incarnation }: MemberOf,
  { order, version, value, expiresAt, was }: Written<V>,
  token: string,
): MarkedNote<V> {
  return {
    key,
    incarnation,
    entry: { order, version, value, ...(expiresAt !== undefined && { expiresAt }) },
    proof: [token],
    was: typeof was === "number" ? [was] : [],
    ...(was === undefined && { isLost: true }),
  };
}

/** Whether an error of a write means that nothing was written. */
export function saysNothingWritten(error: unknown): boolean {
  return StoreError.is(error) && error.code !== "UNAVAILABLE" && error.code !== "ABORTED";
}
