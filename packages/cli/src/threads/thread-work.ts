import { setImmediate as nextTurn } from "node:timers/promises";
import { StoreError, type ThreadInfo } from "@scrollback/store-core";
import { pMapIterable } from "p-map";
import type { CommandContext } from "../context/command-context.ts";
import { exitCodeOf, exitCodes } from "../output/exit-codes.ts";
import { countOf, shownCount, shownDuration } from "../output/figures.ts";
import { isClosedPipe } from "../output/output.ts";
import { Progress } from "../output/progress.ts";
import { printableId, printableLine } from "../output/terminal-text.ts";

/** The outcome for one thread. */
export interface ThreadOutcome {
  /** The id of the thread, if the work finds it. */
  readonly threadId?: string;
  /** A word such as `copied`. */
  readonly outcome: string;
  /** The number of processed messages. */
  readonly messages?: number;
  /** The problem, for the user, with its exit code. */
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

/** A thread to process. */
export interface WorkItem extends Pick<ThreadInfo, "threadId" | "count" | "updatedAt" | "expiresAt"> {
  /** The problem of a damaged thread, of which only the id is known. */
  readonly unreadable?: string;
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
  /** Whether the work on a thread grows with its messages. */
  readonly readsMessages: boolean;
  /** How to continue after the command was stopped. */
  readonly resume: string;
}

/** Errors that concern one thread; after any other the command stops. */
const ofOneThread = ["CONFLICT", "CORRUPT", "TOO_LARGE", "NOT_FOUND"] as const;

/**
 * Processes threads, several concurrently, and reports the results: as JSON one line per thread and one with the sums, else
 * one line per problem and one with the sums. A problem of one thread does not stop the others; an outage does.
 *
 * @param work does one thread; calls `advance` for the messages that it has done.
 */
export async function workThrough<T extends WorkItem>(
  context: CommandContext,
  threads: readonly T[],
  options: WorkOptions,
  work: (thread: T, advance: (messages: number) => void) => Promise<ThreadOutcome>,
): Promise<void> {
  const { output, signal } = context;
  const { label, readsMessages } = options;
  const workOf = (thread: T) => (readsMessages ? 1 + thread.count : 1);
  const total = threads.reduce((sum, thread) => sum + workOf(thread), 0);
  const start = performance.now();
  const sums = new Sums(threads.length);
  const progress = new Progress(output, { label, threads: threads.length, work: total });
  const running = new Set<Promise<unknown>>();
  const one = (thread: T) => {
    const result = workOn(thread).finally(() => running.delete(result));
    running.add(result);
    return result;
  };
  const workOn = async (thread: T) => {
    // A database in this process answers within a turn of the event loop: signals and timers come between turns.
    await nextTurn();
    signal.throwIfAborted();
    let done = 0;
    const outcome = await work(thread, (messages) => {
      if (!readsMessages) return;
      done += messages;
      progress.advance(messages);
    }).catch(outcomeOf);
    progress.advance(workOf(thread) - done);
    progress.finishThread();
    return { thread, outcome };
  };
  let failure: unknown;
  try {
    const { concurrency } = options;
    for await (const { thread, outcome } of pMapIterable(threads, one, {
      concurrency,
      preserveOrder: false,
    })) {
      sums.add(outcome);
      if (outcome.exitCode !== undefined) context.fail(outcome.exitCode);
      await tell(context, outcome.threadId ?? thread.threadId, outcome, options.report);
    }
  } catch (error) {
    failure = signal.aborted ? signal.reason : error;
    progress.stop();
    // The reports of the other threads come before the end.
    if (signal.aborted && !isClosedPipe(failure)) await Promise.allSettled(running);
    output.note(
      `stopped after ${shownCount(sums.threads)} of ${countOf(threads.length, "thread")}. ${options.resume}`,
    );
    throw error;
  } finally {
    progress.stop();
    if (isClosedPipe(failure)) {
      output.status("");
      context.fail(exitCodes.closedPipe);
    } else await tellSums(context, sums, performance.now() - start, options.report);
  }
}

async function tellSums(
  context: CommandContext,
  sums: Sums,
  elapsed: number,
  report: WorkOptions["report"],
): Promise<void> {
  const { output } = context;
  try {
    if (report === "json") await output.json({ summary: sums.toJson(elapsed) });
    else if (report === "text") await output.line(sums.toText(elapsed));
    else output.note(sums.toText(elapsed));
  } catch (error) {
    // The command may have more to do, such as a comparison.
    if (isClosedPipe(error)) context.fail(exitCodes.closedPipe);
    throw error;
  }
}

class Sums {
  readonly #selected: number;
  readonly #outcomes = new Map<string, number>();
  #messages = 0;
  threads = 0;

  constructor(selected: number) {
    this.#selected = selected;
  }

  add({ outcome, messages = 0 }: ThreadOutcome): void {
    this.threads += 1;
    this.#messages += messages;
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1);
  }

  toJson(elapsed: number): Record<string, unknown> {
    return {
      selected: this.#selected,
      done: this.threads,
      messages: this.#messages,
      outcomes: Object.fromEntries(this.#outcomes),
      seconds: Math.round(elapsed) / 1_000,
    };
  }

  toText(elapsed: number): string {
    const outcomes = [...this.#outcomes].map(([outcome, count]) => `${shownCount(count)} ${outcome}`);
    const none = this.#selected === 0 ? "no threads" : "no thread was finished";
    const what = outcomes.length === 0 ? none : `threads: ${outcomes.join(", ")}`;
    const messages = this.#messages > 0 ? `; ${countOf(this.#messages, "message")}` : "";
    const rate = this.threads > 0 ? `, ${shownCount(Math.round(this.threads / (elapsed / 1_000)))}/s` : "";
    return `${what}${messages} (${shownDuration(elapsed)}${rate})`;
  }
}

function outcomeOf(error: unknown): ThreadOutcome {
  if (!StoreError.is(error) || !ofOneThread.some((code) => code === error.code)) throw error;
  const outcome = error.code.toLowerCase().replace("_", " ");
  return { outcome, problems: [error.message], exitCode: exitCodeOf(error) };
}

async function tell(
  context: CommandContext,
  threadId: string,
  { outcome, messages, problems = [], leftOut = {} }: ThreadOutcome,
  report: WorkOptions["report"],
): Promise<void> {
  if (report === "json") {
    const isWhole = Object.keys(leftOut).length === 0;
    const details = {
      ...(messages !== undefined && { messages }),
      ...(problems.length > 0 && { problems }),
      ...(!isWhole && { leftOut }),
    };
    await context.output.json({ threadId, outcome, ...details });
    return;
  }
  for (const problem of problems) {
    context.output.note(`${outcome}: ${printableId(threadId)}: ${printableLine(context.redact(problem))}`);
  }
}
