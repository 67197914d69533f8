export type { Session, SessionEvent } from "./session.ts";
export { SessionService, type SessionServiceOptions } from "./session-service.ts";
export { State } from "./state/state.ts";
