import type { Deletion } from "./simulated-call.ts";

/** What a deletion says in the trace. */
export function describeDeletion({ id, expectedRevision }: Deletion): string {
  return `delete ${id}${expectedRevision === undefined ? "" : `, expected ${expectedRevision}`}`;
}
