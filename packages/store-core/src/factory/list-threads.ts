import { checkOptions, isBoolean, isIntegerUpTo, isSignal, isString } from "../arguments.ts";
import type { ListedThread } from "../driver/driver.ts";
import { StoreError } from "../errors.ts";
import type { StoreContext } from "../store/store-context.ts";

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

/** The options of {@link StoreFactory.listThreads}. */
export interface ListThreadsOptions {
  /** Lists only threads whose ids begin with this prefix. Default: all threads. */
  prefix?: string;
  /** The maximum number of threads on a page, from 1 to 1,000. Default: 100. */
  limit?: number;
  /** The cursor of the previous page. Default: the first page. */
  cursor?: string;
  /** Returns the sizes of threads too. The database then looks at each message, but does not read it. Default: false. */
  sizes?: boolean;
  signal?: AbortSignal;
}

/** A thread in a listing. Times are in milliseconds since 1970. */
export interface ThreadInfo {
  readonly threadId: string;
  /** The number of messages. */
  readonly count: number;
  /** The time of the first commit. */
  readonly createdAt: number;
  /** The time of the newest commit. */
  readonly updatedAt: number;
  /** Absent for a thread that does not expire. */
  readonly expiresAt?: number;
  /** Absent if none is set. */
  readonly metadata?: unknown;
  /** The stored size of its messages and metadata in bytes; absent without `sizes`, and if the backend does not know it. */
  readonly bytes?: number;
}

/** One page of a listing. */
export interface ThreadList {
  readonly threads: readonly ThreadInfo[];
  /** The cursor of the next page; absent on the last page. */
  readonly cursor?: string;
}

/** The checks of {@link ListThreadsOptions}, and of those of other listings by a prefix. */
export const listChecks = {
  // A prefix follows the rules of ids, except that it may be empty.
  prefix: (value: unknown) =>
    typeof value === "string" && value.isWellFormed() ? undefined : "must be well-formed text",
  limit: isIntegerUpTo(MAX_LIMIT),
  cursor: isString,
  signal: isSignal,
};

const threadListChecks = { ...listChecks, sizes: isBoolean };

/** One page of a factory's threads. */
export async function listThreads<M>(
  context: StoreContext<M>,
  options: ListThreadsOptions,
): Promise<ThreadList> {
  context.assertOpen();
  checkOptions("listThreads", options, threadListChecks);
  const { prefix = "", limit = DEFAULT_LIMIT, cursor, sizes = false, signal } = options;
  const page = await context.request(
    () => context.driver.list({ prefix, limit, cursor, sizes, signal }),
    signal,
  );
  for (const { threadId, problem } of page.corrupt ?? []) {
    const message = `thread "${threadId}" cannot be listed: ${problem}`;
    context.reportCorrupt(new StoreError("CORRUPT", message, { threadId }));
  }
  return {
    threads: page.threads.map((thread) => infoOf(context, thread)),
    ...(page.cursor !== undefined && { cursor: page.cursor }),
  };
}

/** All threads of a factory, page after page. */
export async function* iterateThreads<M>(
  context: StoreContext<M>,
  options: Omit<ListThreadsOptions, "cursor">,
): AsyncGenerator<ThreadInfo, void, undefined> {
  const { cursor: _, ...checks } = threadListChecks;
  checkOptions("iterateThreads", options, checks);
  let cursor: string | undefined;
  do {
    const page = await listThreads(context, { ...options, ...(cursor !== undefined && { cursor }) });
    yield* page.threads;
    cursor = page.cursor;
  } while (cursor !== undefined);
}

function infoOf<M>(context: StoreContext<M>, listed: ListedThread): ThreadInfo {
  const { threadId, count, createdAt, updatedAt, expiresAt, bytes, metadata } = listed;
  return {
    threadId,
    count,
    createdAt,
    updatedAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(metadata !== undefined && context.metadataOf(metadata, threadId)),
    ...(bytes !== undefined && { bytes }),
  };
}
