import type { StoreError, StoreFactory } from "@scrollback/store-core";
import { isUnfinishedCopy, ThreadReader } from "@scrollback/store-core/internal";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend, skippingCorruptRecords } from "../context/open-backend.ts";
import { headProblem } from "../layers.ts";
import { parseConcurrency } from "../option-values.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { checkEntries } from "../threads/entry-work.ts";
import { FileCheck, filesOf } from "../threads/file-work.ts";
import { missingIn } from "../threads/listed-threads.ts";
import { addSelection, type SelectionOptions, selectWork } from "../threads/selection.ts";
import { type ThreadOutcome, unfinishedCopy, type WorkItem, workThrough } from "../threads/thread-work.ts";

interface VerifyOptions extends SelectionOptions {
  readonly concurrency: number;
  readonly json?: boolean;
}

/** `scrollback verify` */
export function addVerify(program: Command, context: CommandContext): void {
  addSelection(program.command("verify"))
    .description(
      "Read every record of threads, the heads and files of chats, the heads of sessions, and the lists, and name what is corrupt",
    )
    .argument("<url>", "the URL of the backend")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "one line of JSON per thread, then one with the totals")
    .action((url: string, options: VerifyOptions) => verify(context, url, options));
}

async function verify(
  context: CommandContext,
  url: string,
  { concurrency, json = false, ...selection }: VerifyOptions,
): Promise<void> {
  await using stores = await openBackend(context, url);
  await checkEntries(context, stores, { ...selection, concurrency, json });
  const damaged: WorkItem[] = [];
  const threads = await selectWork(context, stores, selection, {
    onUnreadable: (threadId, unreadable) => damaged.push({ threadId, count: 0, unreadable }),
  });
  const files = new FileCheck(stores, context);
  await workThrough(
    context,
    [...threads, ...damaged],
    {
      ...{ label: "verifying", concurrency, report: json ? "json" : "text" },
      resume: "Run the same command again to verify.",
    },
    (thread) => verifyThread(context, stores, files, thread),
  );
  if (files.unchecked > 0)
    context.output.note(
      `${countOf(files.unchecked, "file")} in another storage than the stores: not checked`,
    );
}

/** Reads all records of a thread, and checks its head, its files and its entries in lists. */
export async function verifyThread(
  { signal }: Pick<CommandContext, "signal">,
  stores: StoreFactory<unknown>,
  fileCheck: FileCheck,
  { threadId, unreadable }: WorkItem,
): Promise<ThreadOutcome> {
  if (unreadable !== undefined)
    return { outcome: "corrupt", problems: [unreadable], exitCode: exitCodes.damaged };
  const problems = new Set<string>();
  const collect = (error: StoreError) => {
    problems.add(error.message);
  };
  const reader = await skippingCorruptRecords(collect, () =>
    ThreadReader.begin(stores.open(threadId), { signal }),
  );
  const { revision, metadata } = reader.newest;
  if (revision === null) return { outcome: "gone meanwhile" };
  const isUnfinished = isUnfinishedCopy(metadata);
  // An unreadable head is reported already, and an unfinished copy has none yet.
  const problem = problems.size === 0 && !isUnfinished ? headProblem(threadId, reader.newest) : undefined;
  if (problem) problems.add(problem);
  const pages = reader.pages();
  let messages = 0;
  const files = new Map<string, string>();
  for (;;) {
    const { value: page } = await skippingCorruptRecords(collect, () => pages.next());
    if (!page) break;
    messages += page.length;
    for (const { message } of page) for (const [use, file] of filesOf(message)) files.set(use, file);
  }
  if (problems.size === 0 && isUnfinished) return { ...unfinishedCopy, messages };
  for (const file of await skippingCorruptRecords(collect, () => fileCheck.missing(threadId, files)))
    problems.add(`its file ${file} is missing or damaged`);
  const missing = await missingIn(stores, threadId, metadata, signal);
  const isCorrupt = problems.size > 0;
  for (const index of missing)
    problems.add(`its entry in ${JSON.stringify(index)} is not there; rebuild makes it again`);
  if (problems.size === 0) return { outcome: "readable", messages };
  const outcome = isCorrupt ? "corrupt" : "not listed";
  return { outcome, messages, problems: [...problems], exitCode: exitCodes.damaged };
}
