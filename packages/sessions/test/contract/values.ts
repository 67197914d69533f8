import { expect } from "vitest";
import type { Session, SessionEvent } from "../../src/session.ts";
import type { Values } from "../../src/state/scopes.ts";

let made = 0;

/** An event with a unique id, at `timestamp`. */
export function event(fields: Partial<SessionEvent> = {}): SessionEvent {
  made += 1;
  return {
    id: `event-${made}`,
    author: "user",
    timestamp: 1_700_000_000 + made,
    content: `said ${made}`,
    ...fields,
  };
}

/** An event that sets `stateDelta`. */
export function setting(stateDelta: Values, fields: Partial<SessionEvent> = {}): SessionEvent {
  return event({ author: "agent", actions: { stateDelta }, ...fields });
}

export const idsOf = (events: readonly SessionEvent[] | undefined) => events?.map(({ id }) => id);

export const copyOfSession = (session: Session): Session => structuredClone(session);

/** Matches a StoreError of any copy of store-core. */
export const storeError = (code: string, message: RegExp = /./) => ({
  name: "StoreError",
  code,
  message: expect.stringMatching(message),
});
