import { StoreError, type StoreFactory } from "@scrollback/store-core";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend, skippingCorruptRecords } from "../context/open-backend.ts";
import { shownUrl } from "../context/redact.ts";
import { parseConcurrency } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { countOf, shownCount } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import { ThreadRemoval } from "../threads/listed-threads.ts";
import { addSelection, missing, type SelectionOptions, selectWork } from "../threads/selection.ts";
import { type ThreadOutcome, type WorkItem, workThrough } from "../threads/thread-work.ts";

interface RemoveOptions extends SelectionOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
}

/** A thread to delete. */
interface Doomed extends WorkItem {
  /** The problem of a damaged thread, of which only the id is known. */
  readonly unreadable?: string;
  /** It was named and does not exist, but if it has expired, the backend may have its content still. */
  readonly isMissing?: boolean;
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
    .action((url: string, ids: readonly string[], options: RemoveOptions) =>
      remove(context, url, { ...options, ids }),
    );
}

async function remove(
  context: CommandContext,
  url: string,
  { all = false, dryRun = false, yes = false, concurrency, json = false, ...selection }: RemoveOptions,
): Promise<void> {
  const { output, signal } = context;
  const { ids = [], idsFrom, prefix } = selection;
  if (!all && ids.length === 0 && idsFrom === undefined && prefix === undefined)
    throw new CommandError(
      exitCodes.usage,
      "rm: say which threads, by ids, --ids-from or --prefix; or give --all",
    );
  await using stores = await openBackend(context, url);
  const others: Doomed[] = [];
  const selected: readonly Doomed[] = await selectWork(context, stores, selection, {
    onMissing: (threadId) => others.push({ threadId, count: 0, isMissing: true }),
    onUnreadable: (threadId, unreadable) => others.push({ threadId, count: 0, unreadable }),
  });
  const threads = [...selected, ...others];
  const unknown = threads.filter(({ isMissing }) => isMissing);
  const found = threads.length - unknown.length;
  if (dryRun) {
    for (const { threadId, isMissing } of threads)
      if (isMissing) missing(context, threadId);
      else await (json ? output.json({ threadId }) : output.line(printableId(threadId)));
    return output.note(`${countOf(found, "thread")}; nothing was changed`);
  }
  if (threads.length > 0 && !yes) {
    const what = [
      ...(found > 0 ? [countOf(found, "thread")] : []),
      ...(unknown.length > 0 ? [`any remains of ${countOf(unknown.length, "unknown thread")}`] : []),
    ].join(" and ");
    await context.confirm(`Delete ${what} of ${shownUrl(context.url(url))} permanently?`);
  }
  const removal = new ThreadRemoval(stores, signal);
  await workThrough(
    context,
    threads,
    {
      ...{ label: "deleting", concurrency, report: json ? "json" : "text" },
      resume: "Each thread is there or gone: run the same command again to go on.",
    },
    (thread) => removeOne(stores, thread, removal, signal),
  );
  if (removal.unreadable === 0) return;
  context.fail(exitCodes.damaged);
  output.note(
    `${shownCount(removal.unreadable)} unreadable entries in lists were left, which may be of these threads; verify names them`,
  );
}

async function removeOne(
  stores: StoreFactory<unknown>,
  { threadId, unreadable, isMissing }: Doomed,
  removal: ThreadRemoval,
  signal: AbortSignal,
): Promise<ThreadOutcome> {
  if (isMissing) {
    await removal.remove(threadId);
    const problems = ["if it has expired, its remains are now deleted"];
    return { outcome: "not found", problems, exitCode: exitCodes.notFound };
  }
  let problem = unreadable;
  let hasDamage = false;
  // A damaged id is not read: it finds no thread, or another one.
  const head =
    problem === undefined &&
    (await skippingCorruptRecords(
      () => {
        hasDamage = true;
      },
      () => stores.open(threadId).read({ limit: 0, signal }),
    ).catch((error: unknown) => {
      if (!StoreError.is(error, "CORRUPT")) throw error;
      problem = error.message;
    }));
  if (head && head.revision === null) return { outcome: "gone meanwhile" };
  await removal.remove(threadId, head && !hasDamage ? head : undefined);
  return { outcome: "deleted", ...(problem !== undefined && { problems: [`it was damaged: ${problem}`] }) };
}
