export { ScrollbackSessionStore, type ScrollbackSessionStoreOptions } from "./scrollback-session-store.ts";
export type {
  FoldSessionSummary,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "./session-store.ts";
