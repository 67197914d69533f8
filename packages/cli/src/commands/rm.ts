import type { StoreFactory } from "@scrollback/store-core";
import type { Command } from "commander";
import { changeThreads } from "../change-threads.ts";
import type { CommandContext } from "../command-context.ts";
import { parseConcurrency } from "../option-values.ts";
import { addSelection, type SelectionOptions } from "../selection.ts";

interface RemoveOptions extends SelectionOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
}

/** `scrollback rm` */
export function addRm(program: Command, context: CommandContext): void {
  addSelection(program.command("rm").alias("delete"))
    .description("Delete threads for good. Asks first")
    .argument("<url>", "where the threads are")
    .argument("[thread-ids...]", "these threads")
    .option("--all", "all threads: needed where nothing else says which")
    .option("--dry-run", "only list what would be deleted")
    .option("--yes", "do not ask")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "a line of JSON for each thread, and one with the sums")
    .action((url: string, ids: readonly string[], options: RemoveOptions) => {
      const given = [...ids, ...(options.id ?? [])];
      const selection = given.length > 0 ? { ...options, id: given } : options;
      return changeThreads(context, url, selection, {
        label: "deleting",
        done: "deleted",
        question: (threads) => `Delete ${threads} for good?`,
        resume: "Each thread is there or gone: run the same command again to go on.",
        change: deleteThread,
        changeExpired: (stores, threadId, signal) => stores.deleteThread(threadId, { signal }),
      });
    });
}

async function deleteThread(
  stores: StoreFactory<unknown>,
  threadId: string,
  expectedRevision: string,
  signal: AbortSignal,
): Promise<void> {
  await stores.deleteThread(threadId, { expectedRevision, signal });
}
