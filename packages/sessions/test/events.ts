import type { SessionEvent } from "../src/index.ts";

/** An event that sets `stateDelta`. */
export function setting(id: string, stateDelta: Record<string, unknown>): SessionEvent {
  return { id, author: "agent", timestamp: Date.now() / 1_000, actions: { stateDelta } };
}
