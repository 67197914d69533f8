import { SequenceBounds } from "@scrollback/store-core/driver";
import { damagedThread } from "./errors.ts";

/** What a thread's newest commit says of its messages, and what the messages say. */
export interface ThreadNumbers extends SequenceBounds {
  /** The number of the newest commit. */
  readonly number: number;
  /** The sequence number of the newest message that is stored; `null` without messages. */
  readonly newest: number | null;
  /** The number of stored messages before `first`. */
  readonly older: number;
}

/**
 * The contradiction of a thread whose messages are more than its newest commit counts; undefined if there is none. A reader would
 * miss the others, and a commit would leave them behind. Missing messages are no contradiction: a reader reports each.
 */
export function contradictionIn(head: ThreadNumbers): string | undefined {
  const { first, next, number, newest, older } = head;
  const pinned = SequenceBounds.pinnedOf(head);
  const isRising = [...pinned, first].every((sequence, index, all) => sequence > (all[index - 1] ?? 0));
  if (!isRising || first > next || number < 1) return "the numbers of its newest commit are impossible";
  if ((newest ?? 0) >= next) return "those of its newest commits are missing";
  if (older > pinned.length) return "its newest commit does not count all of its messages";
  return undefined;
}

/**
 * Must be called before a commit: the next one would get a revision for the second time if the newest one had dropped messages and its row
 * is missing, and trimming would remove too much if `next` is damaged.
 *
 * @throws StoreError `CORRUPT` if the newest message is missing.
 */
export function assertNewestMessage(head: ThreadNumbers): void {
  if ((head.newest ?? 0) < SequenceBounds.lastOf(head)) {
    throw damagedThread("its newest messages are missing, or those of its newest commits");
  }
}
