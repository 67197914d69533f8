import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { parseConcurrency } from "../option-values.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { shownCount } from "../output/figures.ts";
import { changeThreads } from "../threads/change-threads.ts";
import { ThreadRemoval } from "../threads/listed-threads.ts";
import { addSelection, type SelectionOptions } from "../threads/selection.ts";

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
    .description("Delete threads permanently, with their entries in lists. Asks for confirmation")
    .argument("<url>", "the URL of the backend")
    .argument("[thread-ids...]", "the ids of the threads")
    .option("--all", "select all threads; required without another selection")
    .option("--dry-run", "list the selected threads and delete nothing")
    .option("--yes", "do not ask for confirmation")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "one line of JSON per thread, then one with the totals")
    .action(async (url: string, ids: readonly string[], options: RemoveOptions) => {
      const given = [...ids, ...(options.id ?? [])];
      const selection = given.length > 0 ? { ...options, id: given } : options;
      const removal = new ThreadRemoval();
      await changeThreads(context, url, selection, {
        label: "deleting",
        done: "deleted",
        question: (threads) => `Delete ${threads} permanently?`,
        resume: "Each thread is there or gone: run the same command again to go on.",
        change: (stores, head, signal) => removal.remove(stores, head.threadId, head, signal),
        changeUnread: (stores, threadId, signal) => removal.remove(stores, threadId, undefined, signal),
      });
      if (removal.unreadable === 0) return;
      context.fail(exitCodes.damaged);
      context.output.note(
        `${shownCount(removal.unreadable)} unreadable entries in lists were left, which may be of these threads; verify names them`,
      );
    });
}
