export type { SessionClock } from "./clock.ts";
export type {
  AppendEventRequest,
  CreateSessionRequest,
  EventActions,
  GetSessionConfig,
  GetSessionRequest,
  ListSessionsRequest,
  ListSessionsResponse,
  Session,
  SessionEvent,
  SessionKey,
  UpdateSessionRequest,
} from "./session.ts";
export { SessionService, type SessionServiceOptions } from "./session-service.ts";
export { State } from "./state.ts";
