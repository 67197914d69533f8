import type { Identified } from "../chat.ts";
import type { ChatContext } from "../read/context.ts";
import type { Runs } from "./runs.ts";

/** The shared context of all chats, with the runs of this process. */
export interface RunContext<M extends Identified> extends ChatContext<M> {
  readonly runs: Runs<M>;
}
