import { createReadStream } from "node:fs";
import { StoreError, type StoreFactory, type ThreadInfo } from "@scrollback/store-core";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { skippingCorruptRecords } from "../context/open-backend.ts";
import { isBlank, linesOf } from "../formats/lines.ts";
import { parseCount, parseDuration, parseSize, parseText } from "../option-values.ts";
import { CommandError, exitCodes, unreadableFile } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { printableId, printableLine } from "../output/terminal-text.ts";

/** The threads of a command. All given conditions must be true. */
export interface SelectionOptions {
  readonly id?: readonly string[];
  readonly idsFrom?: string;
  readonly prefix?: string;
  /** Milliseconds since the newest commit. */
  readonly olderThan?: number;
  readonly newerThan?: number;
  readonly minMessages?: number;
  readonly maxMessages?: number;
  /** Bytes. */
  readonly largerThan?: number;
  readonly smallerThan?: number;
}

/** Adds the options of {@link SelectionOptions} to a command. */
export function addSelection(command: Command): Command {
  const collect = (id: string, ids: readonly string[] = []) => [...ids, parseText(id)];
  return command
    .option("--id <thread-id>", "the thread with this id; repeatable", collect)
    .option(
      "--ids-from <file>",
      "threads by a file of JSON lines, as ls --json writes them; - for standard input",
      parseText,
    )
    .option("--prefix <text>", "threads whose ids begin with this text", parseText)
    .option("--older-than <duration>", "threads whose last write was longer ago, such as 30d", parseDuration)
    .option(
      "--newer-than <duration>",
      "threads whose last write was within this time, such as 12h",
      parseDuration,
    )
    .option("--min-messages <n>", "threads of at least n messages", parseCount)
    .option("--max-messages <n>", "threads of at most n messages", parseCount)
    .option("--larger-than <size>", "threads larger than this size, such as 10MB", parseSize)
    .option("--smaller-than <size>", "threads smaller than this size", parseSize);
}

/** Whether any selection option was given. */
export function isSelective(options: SelectionOptions): boolean {
  const { id, idsFrom, prefix, olderThan, newerThan, minMessages, maxMessages, largerThan, smallerThan } =
    options;
  const all = [id, idsFrom, prefix, olderThan, newerThan, minMessages, maxMessages, largerThan, smallerThan];
  return all.some((one) => one !== undefined);
}

/** Whether only ids select the threads, without a filter that an expired thread cannot match. */
export function isByIdAlone(options: SelectionOptions): boolean {
  return (options.id !== undefined || options.idsFrom !== undefined) && !readsThreads(options);
}

/** The prefix of a selection by nothing else, "" for all threads; undefined if something else selects. */
export function prefixAlone({ prefix = "", ...others }: SelectionOptions): string | undefined {
  return isSelective(others) ? undefined : prefix;
}

/** Whether a selection depends on what threads hold, so that a thread that cannot be read is not selected. */
export function readsThreads(options: SelectionOptions): boolean {
  const { id: _id, idsFrom: _idsFrom, prefix: _prefix, ...filters } = options;
  return isSelective(filters);
}

/** Whether a thread is selected by its content and its times. */
export function isSelected(
  thread: Pick<ThreadInfo, "count" | "updatedAt" | "bytes">,
  options: SelectionOptions,
  now: number,
): boolean {
  const { olderThan, newerThan, minMessages = 0, maxMessages = Number.POSITIVE_INFINITY } = options;
  const { largerThan, smallerThan } = options;
  const age = now - thread.updatedAt;
  if (olderThan !== undefined && age <= olderThan) return false;
  if (newerThan !== undefined && age >= newerThan) return false;
  if (thread.count < minMessages || thread.count > maxMessages) return false;
  if (largerThan === undefined && smallerThan === undefined) return true;
  const { bytes } = thread;
  if (bytes === undefined) {
    throw new CommandError(
      exitCodes.usage,
      "this backend does not tell how large a thread is; use --min-messages and --max-messages",
    );
  }
  return bytes > (largerThan ?? -1) && bytes < (smallerThan ?? Number.POSITIVE_INFINITY);
}

/** What a command does with threads that it cannot select. */
export interface Unselected {
  /** Called for each named thread that does not exist. Default: {@link missing}. */
  onMissing?(threadId: string): void;
  /**
   * Called for each damaged thread, of which nothing but the id is known, unless the selection depends on more. Default: it is counted as
   * an unreadable record.
   */
  onUnreadable?(threadId: string, problem: string): void;
}

/** What a command needs of the threads. */
export interface Needs extends Unselected {
  /** The sizes of threads. Default: only if they are selected by size. */
  readonly sizes?: boolean;
}

/**
 * The selected threads, each once, in no particular order. Counts unreadable records, and reports them to the user at the end.
 * Remembers the ids until then: about 100 MB for 1,000,000.
 */
export async function* selectThreads(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: SelectionOptions,
  {
    onMissing = (threadId) => missing(context, threadId),
    onUnreadable,
    sizes = options.largerThan !== undefined || options.smallerThan !== undefined,
  }: Needs = {},
): AsyncGenerator<ThreadInfo, void, undefined> {
  const now = Date.now();
  const seen = new Set<string>();
  const corrupt: StoreError[] = [];
  /** Metadata that a command which takes damaged threads does not need. */
  const unneeded: StoreError[] = [];
  for await (const { threads, problems, unreadable = [] } of candidates(
    context,
    stores,
    options,
    onMissing,
    sizes,
  )) {
    (onUnreadable ? unneeded : corrupt).push(...problems);
    for (const { threadId, error } of unreadable) {
      if (seen.has(threadId)) continue;
      seen.add(threadId);
      if (onUnreadable && !readsThreads(options)) onUnreadable(threadId, error.message);
      else corrupt.push(error);
    }
    for (const thread of threads) {
      if (seen.has(thread.threadId)) continue;
      seen.add(thread.threadId);
      if (isSelected(thread, options, now)) yield thread;
    }
  }
  const all = [...corrupt, ...unneeded];
  const [first] = all;
  if (first) {
    context.output.note(
      `${countOf(all.length, "record")} could not be read while listing; the first: ${context.redact(first.message)}`,
    );
  }
  if (corrupt.length > 0) context.fail(exitCodes.damaged);
}

interface Candidates {
  readonly threads: readonly ThreadInfo[];
  /** The errors of unreadable metadata. */
  readonly problems: readonly StoreError[];
  readonly unreadable?: readonly { readonly threadId: string; readonly error: StoreError }[];
}

async function* candidates(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  { id, idsFrom, prefix = "" }: SelectionOptions,
  onMissing: (threadId: string) => void,
  sizes: boolean,
): AsyncGenerator<Candidates, void, undefined> {
  const { signal } = context;
  if (id !== undefined || idsFrom !== undefined) {
    const given = idsFrom === undefined ? [] : readIds(context, idsFrom);
    for await (const threadId of concat(id ?? [], given)) {
      if (!threadId.startsWith(prefix)) continue;
      const found = await lookUp(stores, threadId, signal);
      if (found) yield found;
      else onMissing(threadId);
    }
    return;
  }
  for (let cursor: string | undefined, isLast = false; !isLast; ) {
    const from = cursor === undefined ? {} : { cursor };
    const problems: StoreError[] = [];
    const page = await skippingCorruptRecords(
      (error) => problems.push(error),
      () => stores.listThreads({ prefix, limit: 1_000, sizes, signal, ...from }),
    );
    const listed = new Set(page.threads.map(({ threadId }) => threadId));
    const isListed = ({ threadId }: StoreError) => threadId === undefined || listed.has(threadId);
    yield {
      threads: page.threads,
      problems: problems.filter(isListed),
      unreadable: problems
        .filter((error) => !isListed(error))
        .map((error) => ({ threadId: error.threadId ?? "", error })),
    };
    cursor = page.cursor;
    isLast = cursor === undefined;
  }
}

/** Reports a named thread that does not exist to the user, with what was done. */
export function missing(context: CommandContext, threadId: string, done = ""): void {
  // A URL instead of an id is a mistake.
  context.output.note(`not found: ${printableId(context.redact(threadId))}${done}`);
  context.fail(exitCodes.notFound);
}

/** Returns undefined if the thread does not exist. */
async function lookUp(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<Candidates | undefined> {
  const problems: StoreError[] = [];
  try {
    const page = await skippingCorruptRecords(
      (error) => problems.push(error),
      () => stores.open(threadId).read({ limit: 0, signal }),
    );
    if (page.revision === null) return undefined;
    const { count, createdAt = 0, updatedAt = 0, expiresAt, metadata } = page;
    const thread = {
      ...{ threadId, count, createdAt, updatedAt },
      ...(expiresAt !== undefined && { expiresAt }),
      ...(metadata !== undefined && { metadata }),
    };
    return { threads: [thread], problems };
  } catch (error) {
    if (!StoreError.is(error, "CORRUPT")) throw error;
    return { threads: [], problems: [], unreadable: [{ threadId, error }] };
  }
}

async function* concat(ids: Iterable<string>, more: Iterable<string> | AsyncIterable<string>) {
  yield* ids;
  yield* more;
}

/** Thread ids of a file: on each line a JSON string, or an object with a threadId. */
async function* readIds(context: CommandContext, file: string): AsyncGenerator<string, void, undefined> {
  const input = file === "-" ? context.stdin : createReadStream(file);
  try {
    for await (const line of linesOf(input as AsyncIterable<Buffer | string>)) {
      if (isBlank(line)) continue;
      const { text, problem, number } = line;
      const where = `${printableLine(file)}:${number}`;
      if (problem !== undefined) refuse(`${where}: ${problem}`);
      yield idOf(text) ?? refuse(`${where}: not a JSON string, nor an object with a threadId`);
    }
  } catch (error) {
    unreadableFile(file, error);
  }
}

function idOf(line: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const threadId = typeof value === "string" ? value : (Object(value) as { threadId?: unknown }).threadId;
    return typeof threadId === "string" ? threadId : undefined;
  } catch {
    return undefined;
  }
}

function refuse(problem: string): never {
  throw new CommandError(exitCodes.damaged, problem);
}
