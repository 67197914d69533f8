export type { ScrollbackSessionOptions } from "./items.ts";
export { ScrollbackSession } from "./scrollback-session.ts";
