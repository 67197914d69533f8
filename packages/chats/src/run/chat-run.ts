import type { Identified } from "../chat.ts";
import type { ActiveRun } from "./active-run.ts";

/** A run of this process, as its caller sees it. */
export type ChatRun<M extends Identified> = Pick<
  ActiveRun<M>,
  "id" | "messageId" | "chat" | "entries" | "signal" | "update" | "save" | "end"
>;
