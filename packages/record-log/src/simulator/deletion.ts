import type { Deletion } from "./simulated-call.ts";

/** The text of a deletion in the trace. */
export function describeDeletion({ id, expectedRevision }: Deletion): string {
  return `delete ${id}${expectedRevision === undefined ? "" : `, expected ${expectedRevision}`}`;
}
