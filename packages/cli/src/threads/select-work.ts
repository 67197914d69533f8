import { isListed } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import type { CommandContext } from "../context/command-context.ts";
import { shownCount } from "../output/figures.ts";
import { type SelectionOptions, selectThreads, type Unselected } from "./selection.ts";
import type { WorkItem } from "./thread-work.ts";

const SHOWN_EVERY = 1_000;

/**
 * The selected threads as a list, so that a command that changes threads does not select its own changes.
 *
 * @param takesUnreadable whether damaged threads are selected too.
 */
export async function selectWork(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: SelectionOptions,
  takesUnreadable: boolean,
  unselected: Pick<Unselected, "onMissing"> = {},
): Promise<WorkItem[]> {
  const { output } = context;
  const threads: WorkItem[] = [];
  const onUnreadable = (threadId: string, unreadable: string) => {
    threads.push({ threadId, count: 0, updatedAt: 0, unreadable });
  };
  for await (const { threadId, count, updatedAt, expiresAt, metadata } of selectThreads(
    context,
    stores,
    options,
    {
      ...unselected,
      ...(takesUnreadable && { onUnreadable }),
    },
  )) {
    threads.push({
      ...{ threadId, count, updatedAt, isListed: isListed(metadata) },
      ...(expiresAt !== undefined && { expiresAt }),
    });
    if (threads.length % SHOWN_EVERY === 0) output.status(`listing: ${shownCount(threads.length)} threads`);
  }
  output.status("");
  return threads;
}
