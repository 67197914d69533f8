import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { shownCount } from "../output/figures.ts";
import { addChange, type ChangeOptions, changeThreads } from "../threads/change-threads.ts";
import { ThreadRemoval } from "../threads/listed-threads.ts";

/** `scrollback rm` */
export function addRm(program: Command, context: CommandContext): void {
  addChange(program.command("rm").alias("delete"), "delete")
    .description("Delete threads permanently, with their entries in lists. Asks for confirmation")
    .action((url: string, ids: readonly string[], options: ChangeOptions) =>
      remove(context, url, { ...options, ids }),
    );
}

async function remove(context: CommandContext, url: string, options: ChangeOptions): Promise<void> {
  let removal: ThreadRemoval | undefined;
  await changeThreads(context, url, options, {
    ...{ name: "rm", label: "deleting", done: "deleted", takesUnread: true },
    resume: "Each thread is there or gone: run the same command again to go on.",
    question: (threads) => `Delete ${threads} permanently?`,
    change: (stores, { threadId, head, isDamaged }, signal) => {
      removal ??= new ThreadRemoval(stores, signal, context.blobs);
      return removal.remove(threadId, isDamaged ? undefined : head);
    },
  });
  if (!removal?.unreadable) return;
  context.fail(exitCodes.damaged);
  context.output.note(
    `${shownCount(removal.unreadable)} unreadable entries in lists were left, which may be of these threads; verify names them`,
  );
}
