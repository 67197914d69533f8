import type { LoadEffort } from "../load.ts";

/** How long the measurement of chats takes. */
export interface ChatEffort {
  /** How many chats the owners have. */
  readonly chats: readonly number[];
  readonly calls: LoadEffort;
  /** How often the tabs write. */
  readonly rounds: number;
}
