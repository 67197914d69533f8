import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError, type ThreadInfo } from "@scrollback/store-core";
import pMap from "p-map";
import type { CommandContext } from "../context/command-context.ts";
import { skippingCorruptRecords } from "../context/open-backend.ts";
import { exitCodeOf, exitCodes } from "../output/exit-codes.ts";
import { countOf, shownCount, shownDuration } from "../output/figures.ts";
import { isClosedPipe } from "../output/output.ts";
import { doneOf, showProgress } from "../output/progress.ts";
import { printableId, printableLine } from "../output/terminal-text.ts";

/** The outcome for one thread. */
export interface ThreadOutcome {
  /** The id of the thread, if the work finds it. */
  readonly threadId?: string;
  /** A word such as `copied`. */
  readonly outcome: string;
  /** The number of processed messages. */
  readonly messages?: number;
  /** The problems, for the user. */
  readonly problems?: readonly string[];
  readonly exitCode?: number;
  /** What of its source is not in the thread, by kind. */
  readonly leftOut?: Readonly<Record<string, number>>;
}

/** An incomplete copy, with only the first messages of its source. */
export const unfinishedCopy: ThreadOutcome = Object.freeze({
  outcome: "unfinished copy",
  problems: ["run the copy or import that was stopped again, or delete the thread"],
  exitCode: exitCodes.damaged,
});

/** What tells whether a thread was written to. */
export type ThreadState = Pick<ThreadInfo, "count" | "updatedAt">;

/** A thread to process. */
export interface WorkItem {
  readonly threadId: string;
  readonly count: number;
  readonly expiresAt?: number | undefined;
  /** The problem of a damaged thread of which only the id is known: it is not read, as a damaged id finds no thread, or another one. */
  readonly unreadable?: string;
  /** As it was when it was selected; absent: it was named by its id alone. */
  readonly asOf?: ThreadState | undefined;
  /** Whether a layer lists it, as its metadata says. */
  readonly isListed?: boolean;
}

/** The options of {@link workThrough}. */
export interface WorkOptions {
  /** The name of the work, such as `copying`. */
  readonly label: string;
  readonly concurrency: number;
  /** `json`: lines of JSON as the result. `text`: a line as the result. `notes`: that line beside a result of another kind. */
  readonly report: "json" | "text" | "notes";
  /** How to continue after the command was stopped. */
  readonly resume: string;
}

/** Errors that concern one thread; after any other the command stops. */
const ofOneThread = ["CONFLICT", "CORRUPT", "TOO_LARGE", "NOT_FOUND"] as const;

/**
 * Processes threads, several concurrently, and reports the results: as JSON one line per thread and one with the sums, else
 * one line per problem and one with the sums. A problem of one thread does not stop the others; an outage does.
 */
export async function workThrough<T extends WorkItem>(
  context: CommandContext,
  threads: readonly T[] | AsyncIterable<T>,
  { label, concurrency, report, resume }: WorkOptions,
  work: (thread: T) => Promise<ThreadOutcome>,
): Promise<void> {
  const { output, signal } = context;
  const start = performance.now();
  const selected = "length" in threads ? threads.length : undefined;
  const sums = { selected, done: 0, messages: 0 };
  const outcomes = new Map<string, number>();
  const failures: unknown[] = [];
  const stopProgress = showProgress(output, label, sums);
  // The threads that are being processed come to their end before the command does.
  await pMap(
    threads,
    async (thread) => {
      if (failures.length > 0) return;
      try {
        // A database in this process answers within a turn of the event loop: signals and timers come between turns.
        await nextTurn();
        signal.throwIfAborted();
        const made = await work(thread).catch(outcomeOf);
        sums.done += 1;
        sums.messages += made.messages ?? 0;
        outcomes.set(made.outcome, (outcomes.get(made.outcome) ?? 0) + 1);
        if (made.exitCode !== undefined) context.fail(made.exitCode);
        await tell(context, made.threadId ?? thread.threadId, made, report);
      } catch (error) {
        failures.push(error);
      }
    },
    { concurrency },
  ).catch((error: unknown) => failures.push(error));
  stopProgress();
  const [failure] = failures;
  if (failure !== undefined) {
    output.note(`stopped after ${doneOf(sums)}. ${resume}`);
  }
  try {
    const elapsed = performance.now() - start;
    const cause: unknown = signal.aborted ? signal.reason : failure;
    if (isClosedPipe(cause)) throw cause;
    if (report === "json") {
      const seconds = Math.round(elapsed) / 1_000;
      const summary = { ...sums, selected: selected ?? sums.done, outcomes: Object.fromEntries(outcomes) };
      await output.json({ summary: { ...summary, seconds } });
    } else if (report === "text") await output.line(textOf(sums, outcomes, elapsed, failure !== undefined));
    else output.note(textOf(sums, outcomes, elapsed, failure !== undefined));
  } catch (error) {
    if (isClosedPipe(error)) context.fail(exitCodes.closedPipe);
    throw error;
  }
  if (failure !== undefined) throw failure;
}

/** Does the work on a thread; if `isSkipping`, without its unreadable records, which are then its problems. */
export async function withoutCorruptRecords(
  isSkipping: boolean,
  work: () => Promise<ThreadOutcome>,
): Promise<ThreadOutcome> {
  if (!isSkipping) return await work();
  const problems = new Set<string>();
  const made = await skippingCorruptRecords((error) => problems.add(error.message), work);
  if (problems.size === 0 || made.exitCode !== undefined) return made;
  const outcome = `${made.outcome} in part`;
  return { ...made, outcome, problems: [...problems], exitCode: exitCodes.damaged };
}

function textOf(
  { done, messages }: { done: number; messages: number },
  outcomes: ReadonlyMap<string, number>,
  elapsed: number,
  isStopped: boolean,
): string {
  const all = [...outcomes].map(([outcome, count]) => `${shownCount(count)} ${outcome}`);
  const none = isStopped ? "no thread was finished" : "no threads";
  const what = all.length === 0 ? none : `threads: ${all.join(", ")}`;
  const ofMessages = messages > 0 ? `; ${countOf(messages, "message")}` : "";
  const rate = done > 0 ? `, ${shownCount(Math.round(done / (elapsed / 1_000)))}/s` : "";
  return `${what}${ofMessages} (${shownDuration(elapsed)}${rate})`;
}

function outcomeOf(error: unknown): ThreadOutcome {
  // A thread of a newer format, or with a file in another storage.
  const isUnsupported = StoreError.is(error, "UNSUPPORTED") && error.threadId !== undefined;
  if (!StoreError.is(error) || !(isUnsupported || ofOneThread.some((code) => code === error.code)))
    throw error;
  const outcome = error.code.toLowerCase().replace("_", " ");
  const exitCode = isUnsupported ? exitCodes.conflict : exitCodeOf(error);
  return { outcome, problems: [error.message], exitCode };
}

async function tell(
  context: CommandContext,
  threadId: string,
  { outcome, messages, problems = [], leftOut = {} }: ThreadOutcome,
  report: WorkOptions["report"],
): Promise<void> {
  if (report === "json") {
    await context.output.json({
      ...{ threadId, outcome },
      ...(messages !== undefined && { messages }),
      ...(problems.length > 0 && { problems }),
      ...(Object.keys(leftOut).length > 0 && { leftOut }),
    });
    return;
  }
  for (const problem of problems)
    context.output.note(`${outcome}: ${printableId(threadId)}: ${printableLine(context.redact(problem))}`);
}
