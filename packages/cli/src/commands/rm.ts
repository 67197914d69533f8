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
    .description("Delete threads permanently. Asks for confirmation")
    .argument("<url>", "the URL of the backend")
    .argument("[thread-ids...]", "the ids of the threads")
    .option("--all", "select all threads; required without another selection")
    .option("--dry-run", "list the selected threads and delete nothing")
    .option("--yes", "do not ask for confirmation")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "one line of JSON per thread, then one with the totals")
    .action((url: string, ids: readonly string[], options: RemoveOptions) => {
      const given = [...ids, ...(options.id ?? [])];
      const selection = given.length > 0 ? { ...options, id: given } : options;
      return changeThreads(context, url, selection, {
        label: "deleting",
        done: "deleted",
        question: (threads) => `Delete ${threads} permanently?`,
        resume: "Each thread is there or gone: run the same command again to go on.",
        change: deleteThread,
        changeUnread: (stores, threadId, signal) => stores.deleteThread(threadId, { signal }),
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
