import { StoreError, type StoreFactory, type ThreadPage } from "@scrollback/store-core";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend, skippingCorruptRecords } from "../context/open-backend.ts";
import { shownUrl } from "../context/redact.ts";
import { parseConcurrency } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import { addSelection, missing, type SelectionOptions, selectWork } from "./selection.ts";
import { type ThreadOutcome, type WorkItem, workThrough } from "./thread-work.ts";

/** The options of commands that change threads. */
export interface ChangeOptions extends SelectionOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
}

/** Adds the arguments and options of {@link ChangeOptions} to a command. */
export function addChange(command: Command, what: string): Command {
  return addSelection(command)
    .argument("<url>", "the URL of the backend")
    .argument("[thread-ids...]", "the ids of the threads")
    .option("--all", "select all threads; required without another selection")
    .option("--dry-run", `list the selected threads and ${what} nothing`)
    .option("--yes", "do not ask for confirmation")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "one line of JSON per thread, then one with the totals");
}

/** A selected thread. */
interface Selected extends WorkItem {
  /** It was named and does not exist. */
  readonly isMissing?: boolean;
}

/** A thread that is changed. */
interface ThreadToChange {
  readonly threadId: string;
  /** Undefined for a damaged thread, and for one that does not exist, of which a backend may have the content if it has expired. */
  readonly head: ThreadPage<unknown> | undefined;
  /** Whether a part of the head, such as the metadata, cannot be read. */
  readonly isDamaged: boolean;
}

/** A change of threads. */
export interface ThreadChange {
  readonly name: string;
  readonly label: string;
  /** The word for a changed thread. */
  readonly done: string;
  readonly question: (threads: string) => string;
  readonly resume: string;
  /** Whether threads without a head are changed too. */
  readonly takesUnread: boolean;
  readonly change: (
    stores: StoreFactory<unknown>,
    thread: ThreadToChange,
    signal: AbortSignal,
  ) => Promise<unknown>;
}

/** Changes the selected threads, after a confirmation. Leaves alone those that were written to after they were selected. */
export async function changeThreads(
  context: CommandContext,
  url: string,
  { all = false, dryRun = false, yes = false, concurrency, json = false, ...selection }: ChangeOptions,
  change: ThreadChange,
): Promise<void> {
  const { output, signal } = context;
  const { name, label, resume, question, takesUnread } = change;
  const { ids = [], idsFrom, prefix } = selection;
  if (!all && ids.length === 0 && idsFrom === undefined && prefix === undefined)
    throw new CommandError(
      exitCodes.usage,
      `${name}: say which threads, by ids, --ids-from or --prefix; or give --all`,
    );
  await using stores = await openBackend(context, url);
  const others: Selected[] = [];
  const selected: readonly Selected[] = await selectWork(context, stores, selection, {
    onMissing: (threadId) => others.push({ threadId, count: 0, isMissing: true }),
    onUnreadable: (threadId, unreadable) => others.push({ threadId, count: 0, unreadable }),
  });
  const threads = [...selected, ...others];
  const unknown = threads.filter(({ isMissing }) => isMissing).length;
  const found = threads.length - unknown;
  if (dryRun) {
    for (const { threadId, isMissing } of threads)
      if (isMissing) missing(context, threadId);
      else await (json ? output.json({ threadId }) : output.line(printableId(threadId)));
    return output.note(`${countOf(found, "thread")}; nothing was changed`);
  }
  const remains = takesUnread ? unknown : 0;
  if (found + remains > 0 && !yes) {
    const what = [
      ...(found > 0 ? [countOf(found, "thread")] : []),
      ...(remains > 0 ? [`any remains of ${countOf(remains, "unknown thread")}`] : []),
    ].join(" and ");
    await context.confirm(question(`${what} of ${shownUrl(context.url(url))}`));
  }
  const options = { label, resume, concurrency, report: json ? "json" : "text" } as const;
  await workThrough(context, threads, options, (thread) => changeOne(stores, thread, change, signal));
}

async function changeOne(
  stores: StoreFactory<unknown>,
  { threadId, unreadable, isMissing, asOf }: Selected,
  { done, takesUnread, change }: ThreadChange,
  signal: AbortSignal,
): Promise<ThreadOutcome> {
  const unread = { threadId, head: undefined, isDamaged: true };
  if (isMissing) {
    if (takesUnread) await change(stores, unread, signal);
    const problems = takesUnread
      ? ["if it has expired, its remains are now deleted"]
      : ["there is no such thread"];
    return { outcome: "not found", problems, exitCode: exitCodes.notFound };
  }
  let problem = unreadable;
  let isDamaged = false;
  const head =
    problem === undefined
      ? await skippingCorruptRecords(
          () => {
            isDamaged = true;
          },
          () => stores.open(threadId).read({ limit: 0, signal }),
        ).catch((error: unknown) => {
          if (!StoreError.is(error, "CORRUPT")) throw error;
          problem = error.message;
        })
      : undefined;
  if (!head) {
    if (!takesUnread) return { outcome: "damaged", problems: [problem ?? ""], exitCode: exitCodes.damaged };
    await change(stores, unread, signal);
    return { outcome: done, problems: [`it was damaged: ${problem}`] };
  }
  if (head.revision === null) return { outcome: "gone meanwhile" };
  if (asOf && (asOf.count !== head.count || asOf.updatedAt !== head.updatedAt))
    return { outcome: "left alone", problems: ["it was written to meanwhile"], exitCode: exitCodes.conflict };
  await change(stores, { threadId, head, isDamaged }, signal);
  return { outcome: done };
}
