import { createReadStream } from "node:fs";
import { CONTENT_PREFIX, isListed, partThreads, STREAM_PREFIX } from "@scrollback/collections/internal";
import { StoreError, type StoreFactory, type ThreadInfo } from "@scrollback/store-core";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { skippingCorruptRecords } from "../context/open-backend.ts";
import { linesOf } from "../formats/lines.ts";
import { parseText } from "../option-values.ts";
import { exitCodes, refuseLine } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import type { ThreadState, WorkItem } from "./thread-work.ts";

/** The threads of a command: all, or those that match every given condition. */
export interface SelectionOptions {
  readonly ids?: readonly string[];
  readonly idsFrom?: string;
  readonly prefix?: string;
}

/** Adds the options of {@link SelectionOptions} to a command. */
export function addSelection(command: Command): Command {
  return command
    .option(
      "--ids-from <file>",
      "threads by a file of JSON lines, as ls --json writes them; - for standard input",
      parseText,
    )
    .option("--prefix <text>", "threads whose ids begin with this text", parseText);
}

/** The content of a file goes with the threads that use it, the text of a running answer with its chat. */
function belongsToOthers({ threadId }: ThreadInfo): boolean {
  return threadId.startsWith(CONTENT_PREFIX) || threadId.startsWith(STREAM_PREFIX);
}

function leave(context: CommandContext, { threadId }: ThreadInfo): void {
  const problem = threadId.startsWith(CONTENT_PREFIX)
    ? "the content of a file goes with the messages that have it"
    : "the text of a running answer goes with its chat";
  context.output.note(`left alone: ${printableId(threadId)}: ${problem}`);
  context.fail(exitCodes.conflict);
}

/** A selected thread. */
export interface SelectedThread extends ThreadInfo {
  /** The thread as it was when it was selected, by a listing or a line of `ls --json`; absent if it was named by its id alone. */
  readonly asOf?: ThreadState;
}

/** How a command treats threads that it cannot select. */
export interface Unselected {
  /** Called for each named thread that does not exist. Default: {@link missing}. */
  onMissing?(threadId: string): void;
  /** Called for each damaged thread, of which only the id is known. Default: it is counted as an unreadable record. */
  onUnreadable?(threadId: string, problem: string): void;
}

/**
 * The selected threads, each once, in no particular order. Counts unreadable records, and reports them to the user at the end.
 * Remembers the ids until then: about 100 MB for 1,000,000.
 */
export async function* selectThreads(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: SelectionOptions,
  { onMissing = (threadId) => missing(context, threadId), onUnreadable }: Unselected = {},
  { sizes = false } = {},
): AsyncGenerator<SelectedThread, void, undefined> {
  const seen = new Set<string>();
  const isNew = (threadId: string) => !seen.has(threadId) && seen.add(threadId);
  const unread: string[] = [];
  const isNamed = options.idsFrom !== undefined || (options.ids ?? []).length > 0;
  for await (const { threads, problems, missing } of pagesOf(context, stores, options, sizes)) {
    const listed = new Set(threads.map(({ threadId }) => threadId));
    for (const { threadId, message } of problems) {
      const isUnreadable = threadId !== undefined && !listed.has(threadId);
      if (isUnreadable && !isNew(threadId)) continue;
      if (isUnreadable && onUnreadable) onUnreadable(threadId, message);
      else unread.push(message);
    }
    if (missing !== undefined && isNew(missing)) onMissing(missing);
    for (const thread of threads) {
      if (!isNew(thread.threadId)) continue;
      if (!belongsToOthers(thread)) yield thread;
      else if (isNamed) leave(context, thread);
    }
  }
  const [first] = unread;
  if (first === undefined) return;
  context.output.note(
    `${countOf(unread.length, "record")} could not be read while listing; the first: ${context.redact(first)}`,
  );
  // A command that takes damaged threads needs no metadata.
  if (!onUnreadable) context.fail(exitCodes.damaged);
}

/** The selected threads and their parts as a list, so that a command that changes threads does not select its own changes. */
export async function selectWork(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: SelectionOptions,
  unselected: Unselected = {},
): Promise<WorkItem[]> {
  const threads: WorkItem[] = [];
  const selected = selectThreads(context, stores, options, unselected);
  const parts = new Set<string>();
  for await (const { threadId, count, expiresAt, metadata, asOf } of selected) {
    threads.push({ threadId, count, expiresAt, isListed: isListed(metadata), asOf });
    for (const part of partThreads(threadId, metadata)) parts.add(part);
  }
  for (const { threadId } of threads) parts.delete(threadId);
  for (const part of parts) {
    const [found] = (await pageOf(stores, part, context.signal)).threads;
    if (found) threads.push({ threadId: part, count: found.count, expiresAt: found.expiresAt });
  }
  return threads;
}

interface SelectedPage {
  readonly threads: readonly SelectedThread[];
  /** Unreadable metadata of these threads, and other threads that cannot be read. */
  readonly problems: readonly Pick<StoreError, "threadId" | "message">[];
  /** The id of a named thread that does not exist. */
  readonly missing?: string;
}

async function* pagesOf(
  { signal, stdin }: CommandContext,
  stores: StoreFactory<unknown>,
  { ids = [], idsFrom, prefix = "" }: SelectionOptions,
  sizes: boolean,
): AsyncGenerator<SelectedPage, void, undefined> {
  const lookUp = (threadId: string) => pageOf(stores, threadId, signal);
  for (const threadId of ids) if (threadId.startsWith(prefix)) yield await lookUp(threadId);
  if (idsFrom !== undefined) {
    const input = idsFrom === "-" ? stdin : createReadStream(idsFrom);
    for await (const { text, number } of linesOf(input as AsyncIterable<Buffer | string>, idsFrom)) {
      const line =
        namedIn(text) ?? refuseLine(idsFrom, number, "not a JSON string, nor an object with a threadId");
      if (!line.threadId.startsWith(prefix)) continue;
      const { threads, ...rest } = await lookUp(line.threadId);
      yield { threads: threads.map((thread) => ({ ...thread, ...line })), ...rest };
    }
  }
  if (ids.length > 0 || idsFrom !== undefined) return;
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const from = cursor === undefined ? {} : { cursor };
    const problems: StoreError[] = [];
    const page = await skippingCorruptRecords(
      (error) => problems.push(error),
      () => stores.listThreads({ prefix, limit: 1_000, sizes, signal, ...from }),
    );
    yield { threads: page.threads.map((thread) => ({ ...thread, asOf: thread })), problems };
    cursor = page.cursor;
  }
}

/** A named thread. */
async function pageOf(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<SelectedPage> {
  const problems: StoreError[] = [];
  try {
    const page = await skippingCorruptRecords(
      (error) => problems.push(error),
      () => stores.open(threadId).read({ limit: 0, signal }),
    );
    const { revision, count, createdAt = 0, updatedAt = 0, expiresAt, metadata } = page;
    if (revision === null) return { threads: [], problems, missing: threadId };
    const details = {
      ...(expiresAt !== undefined && { expiresAt }),
      ...(metadata !== undefined && { metadata }),
    };
    return { threads: [{ threadId, count, createdAt, updatedAt, ...details }], problems };
  } catch (error) {
    if (!StoreError.is(error, "CORRUPT")) throw error;
    return { threads: [], problems: [{ threadId, message: error.message }] };
  }
}

/** Reports a named thread that does not exist to the user. */
export function missing(context: CommandContext, threadId: string): void {
  // A URL instead of an id is a mistake.
  context.output.note(`not found: ${printableId(context.redact(threadId))}`);
  context.fail(exitCodes.notFound);
}

/** What a line names: a JSON string, or an object with a threadId, and perhaps with the state of the thread. */
function namedIn(line: string): Pick<SelectedThread, "threadId" | "asOf"> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "string") return { threadId: value };
    const { threadId, count, updatedAt } = Object(value) as Record<string, unknown>;
    if (typeof threadId !== "string") return undefined;
    const hasState = typeof count === "number" && typeof updatedAt === "number";
    return { threadId, ...(hasState && { asOf: { count, updatedAt } }) };
  } catch {
    return undefined;
  }
}
