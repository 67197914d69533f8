export { ScrollbackSessionStore } from "./scrollback-session-store.ts";
