export type { ScrollbackSessionStoreOptions } from "./options.ts";
export { ScrollbackSessionStore } from "./scrollback-session-store.ts";
