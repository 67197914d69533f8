export { ScrollbackSession } from "./scrollback-session.ts";
