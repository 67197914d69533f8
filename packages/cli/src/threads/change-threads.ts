import { type Revision, StoreError, type StoreFactory, type ThreadPage } from "@scrollback/store-core";
import pMap from "p-map";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend, skippingCorruptRecords } from "../context/open-backend.ts";
import { shownUrl } from "../context/redact.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import { selectWork } from "./select-work.ts";
import { isByIdAlone, isSelective, missing, readsThreads, type SelectionOptions } from "./selection.ts";
import { type ThreadOutcome, type WorkItem, workThrough } from "./thread-work.ts";

/** Options of commands that change threads. */
export interface ChangeOptions extends SelectionOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
}

/** A thread that is changed. */
export interface ThreadToChange extends Pick<ThreadPage<unknown>, "count" | "metadata"> {
  readonly threadId: string;
  readonly revision: Revision;
  /** The metadata cannot be read. */
  readonly isDamaged: boolean;
}

/** A change of threads. */
export interface ThreadChange {
  readonly label: string;
  /** The word for a changed thread. */
  readonly done: string;
  readonly question: (threads: string) => string;
  readonly resume: string;
  /** Changes a thread if it is still at this revision. */
  readonly change: (
    stores: StoreFactory<unknown>,
    head: ThreadToChange,
    signal: AbortSignal,
  ) => Promise<void>;
  /**
   * Changes a thread whose revision is unknown: removes a damaged thread, or the remains of an expired one that was named by its id.
   * Absent if the change needs a readable thread.
   */
  readonly changeUnread?: (
    stores: StoreFactory<unknown>,
    threadId: string,
    signal: AbortSignal,
  ) => Promise<void>;
}

/**
 * Changes the selected threads, after a confirmation. Skips a thread that was written to after it was selected by prefix, age
 * or size, because it may no longer match.
 */
export async function changeThreads(
  context: CommandContext,
  url: string,
  options: ChangeOptions,
  change: ThreadChange,
): Promise<void> {
  const { output } = context;
  const { all = false, dryRun = false, yes = false, json = false, concurrency } = options;
  if (!all && !isSelective(options)) {
    throw new CommandError(
      exitCodes.usage,
      "say which threads, by ids, --prefix, --older-than and the like; or --all",
    );
  }
  await using stores = await openBackend(context, url);
  const unknown = new Set<string>();
  const changeUnread = readsThreads(options) ? undefined : change.changeUnread;
  const onMissing = (threadId: string) => unknown.add(threadId);
  const threads = await selectWork(context, stores, options, changeUnread !== undefined, { onMissing });
  const expired = changeUnread && !dryRun && isByIdAlone(options) ? [...unknown] : [];
  if (expired.length === 0) for (const threadId of unknown) missing(context, threadId);
  if (dryRun) {
    for (const { threadId } of threads)
      await (json ? output.json({ threadId }) : output.line(printableId(threadId)));
    output.note(`${countOf(threads.length, "thread")}; nothing was changed`);
    return;
  }
  const changed = [
    ...(threads.length > 0 ? [countOf(threads.length, "thread")] : []),
    ...(expired.length > 0 ? [`any remains of ${countOf(expired.length, "unknown thread")}`] : []),
  ];
  if (changed.length > 0 && !yes) {
    await context.confirm(change.question(`${changed.join(" and ")} of ${shownUrl(context.url(url))}`));
  }
  if (changeUnread) {
    const removeRemains = async (threadId: string) => {
      await changeUnread(stores, threadId, context.signal);
      missing(context, threadId, "; if it has expired, its remains are now deleted");
    };
    await pMap(expired, removeRemains, { concurrency });
  }
  if (threads.length === 0 && unknown.size > 0 && !json) return;
  const isNamed = options.id !== undefined || options.idsFrom !== undefined;
  const { label, resume } = change;
  const report = json ? "json" : "text";
  await workThrough(
    context,
    threads,
    { label, resume, concurrency, report, readsMessages: false },
    (thread) => changeOne(context, stores, thread, isNamed, { ...change, changeUnread }),
  );
}

async function changeOne(
  { signal }: CommandContext,
  stores: StoreFactory<unknown>,
  thread: WorkItem,
  isNamed: boolean,
  {
    change,
    changeUnread,
    done,
  }: Pick<ThreadChange, "change" | "done"> & Record<"changeUnread", ThreadChange["changeUnread"] | undefined>,
): Promise<ThreadOutcome> {
  const { threadId } = thread;
  let problem = thread.unreadable;
  const page = await readHead(stores, thread, signal).catch((error) => {
    if (!changeUnread || !StoreError.is(error, "CORRUPT")) throw error;
    problem ??= error.message;
  });
  if (!page) {
    await changeUnread?.(stores, threadId, signal);
    return { outcome: done, problems: [`it was damaged: ${problem}`] };
  }
  const { revision, count, metadata, isDamaged } = page;
  if (revision === null) return { outcome: "gone meanwhile" };
  const isSame = count === thread.count && page.updatedAt === thread.updatedAt;
  if (!isSame && !isNamed) {
    return { outcome: "left alone", problems: ["it changed meanwhile"], exitCode: exitCodes.conflict };
  }
  try {
    await change(stores, { threadId, revision, count, metadata, isDamaged }, signal);
    return { outcome: done };
  } catch (error) {
    const isRefused = StoreError.is(error, "CONFLICT") || StoreError.is(error, "NOT_FOUND");
    // Another process may have deleted it since it was read.
    if (!isRefused || (await readHead(stores, thread, signal)).revision !== null) throw error;
    return { outcome: "gone meanwhile" };
  }
}

/** @throws StoreError `CORRUPT` for a damaged thread, which not every listing finds. Unreadable metadata does not prevent a change. */
async function readHead(
  stores: StoreFactory<unknown>,
  { threadId, unreadable }: WorkItem,
  signal: AbortSignal,
): Promise<ThreadPage<unknown> & Pick<ThreadToChange, "isDamaged">> {
  // Not read: a damaged id finds no thread, or another one.
  if (unreadable !== undefined) throw new StoreError("CORRUPT", unreadable, { threadId });
  let isDamaged = false;
  const page = await skippingCorruptRecords(
    () => {
      isDamaged = true;
    },
    () => stores.open(threadId).read({ limit: 0, signal }),
  );
  return { ...page, isDamaged };
}
