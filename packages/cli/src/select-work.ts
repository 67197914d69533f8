import type { StoreFactory } from "@scrollback/store-core";
import type { CommandContext } from "./command-context.ts";
import { shownCount } from "./figures.ts";
import { type SelectionOptions, selectThreads } from "./selection.ts";
import type { WorkItem } from "./thread-work.ts";

const SHOWN_EVERY = 1_000;

/** The selected threads as a list, so that a command that changes threads does not select its own changes. */
export async function selectWork(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: SelectionOptions,
  onMissing?: (threadId: string) => void,
): Promise<WorkItem[]> {
  const { output } = context;
  const threads: WorkItem[] = [];
  for await (const { threadId, count, updatedAt, expiresAt } of selectThreads(
    context,
    stores,
    options,
    onMissing,
  )) {
    threads.push({ threadId, count, updatedAt, ...(expiresAt !== undefined && { expiresAt }) });
    if (threads.length % SHOWN_EVERY === 0) output.status(`listing: ${shownCount(threads.length)} threads`);
  }
  output.status("");
  return threads;
}
