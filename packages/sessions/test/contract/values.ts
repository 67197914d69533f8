import { expect } from "vitest";
import type { Session, SessionEvent } from "../../src/session.ts";
import type { SessionService } from "../../src/session-service.ts";
import type { Values } from "../../src/state/scopes.ts";

/** What a contract test is given: a service, and names that no other test uses. */
export interface Trial {
  readonly sessions: SessionService;
  readonly appName: string;
  readonly userId: string;
  /** A service with a client of its own, as in another process: it shares only the storage with earlier ones. */
  connect(options?: { staleWriter?: "reject" | "reload" }): SessionService;
}

/** Declares one promise as a test. */
export type Declare = (title: string, run: (trial: Trial) => Promise<void>) => void;

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
