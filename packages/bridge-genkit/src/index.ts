export { ScrollbackSessionStore, type ScrollbackSessionStoreOptions } from "./scrollback-session-store.ts";
