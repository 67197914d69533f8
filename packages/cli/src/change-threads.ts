import type { StoreFactory } from "@scrollback/store-core";
import pMap from "p-map";
import type { CommandContext } from "./command-context.ts";
import { skippingCorruptRecords } from "./corrupt-records.ts";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { countOf } from "./figures.ts";
import { openBackend } from "./open-backend.ts";
import { shownUrl } from "./redact.ts";
import { selectWork } from "./select-work.ts";
import { isByIdAlone, isSelective, type SelectionOptions } from "./selection.ts";
import { printableId } from "./terminal-text.ts";
import { type ThreadOutcome, type WorkItem, workThrough } from "./thread-work.ts";

/** Options of commands that change threads. */
export interface ChangeOptions extends SelectionOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
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
    threadId: string,
    expectedRevision: string,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Removes the remains of an expired thread that was named by its id. Absent if the change does not do this. */
  readonly changeExpired?: (
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
  const missing = new Set<string>();
  const threads = await selectWork(context, stores, options, (threadId) => missing.add(threadId));
  if (dryRun) {
    for (const { threadId } of threads)
      await (json ? output.json({ threadId }) : output.line(printableId(threadId)));
    output.note(`${countOf(threads.length, "thread")}; nothing was changed`);
    return;
  }
  const { changeExpired } = change;
  const expired = changeExpired && isByIdAlone(options) ? [...missing] : [];
  const count = threads.length + expired.length;
  if (count > 0 && !yes) {
    await context.confirm(change.question(`${countOf(count, "thread")} of ${shownUrl(context.url(url))}`));
  }
  if (changeExpired && expired.length > 0) {
    await pMap(expired, (threadId) => changeExpired(stores, threadId, context.signal), { concurrency });
    output.note(`deleted what expiry may have left of ${countOf(expired.length, "thread")}`);
  }
  const isNamed = options.id !== undefined || options.idsFrom !== undefined;
  const { label, resume } = change;
  const report = json ? "json" : "text";
  await workThrough(
    context,
    threads,
    { label, resume, concurrency, report, readsMessages: false },
    (thread) => changeOne(context, stores, thread, isNamed, change),
  );
}

async function changeOne(
  { signal }: CommandContext,
  stores: StoreFactory<unknown>,
  thread: WorkItem,
  isNamed: boolean,
  { change, done }: ThreadChange,
): Promise<ThreadOutcome> {
  const { threadId } = thread;
  // Unreadable metadata does not prevent deletion.
  const page = await skippingCorruptRecords(
    () => undefined,
    () => stores.open(threadId).read({ limit: 0, signal }),
  );
  if (page.revision === null) return { outcome: "gone meanwhile" };
  const isSame = page.count === thread.count && page.updatedAt === thread.updatedAt;
  if (!isSame && !isNamed) {
    return { outcome: "left alone", problems: ["it changed meanwhile"], exitCode: exitCodes.conflict };
  }
  await change(stores, threadId, page.revision, signal);
  return { outcome: done };
}
