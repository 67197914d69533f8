import type { LoadEffort } from "../load.ts";

/** The duration of the measurement of chats. */
export interface ChatEffort {
  /** The numbers of chats of the owners. */
  readonly chats: readonly number[];
  readonly calls: LoadEffort;
  /** The number of rounds in which the tabs write. */
  readonly rounds: number;
}
