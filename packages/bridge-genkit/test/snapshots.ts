import type { SessionSnapshot } from "@genkit-ai/ai/session";

let moments = 0;

/** A snapshot with a later creation time than all earlier ones. */
export function snapshotOf(
  snapshotId: string,
  fields: Partial<SessionSnapshot<unknown>> = {},
): SessionSnapshot<unknown> {
  moments += 1;
  return { snapshotId, createdAt: new Date(1_700_000_000_000 + moments).toISOString(), ...fields };
}
