import { StoreError } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClassification,
  type ListRequest,
  MAX_VALUE_BYTES,
  NO_THREAD,
  REMEMBERED_MS,
  type ReadRequest,
  SequenceBounds,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import type { Command, Connection, OpenCommands } from "./connection.ts";
import { type EntrySource, RedisEntries } from "./entries.ts";
import { classifyError, raise } from "./errors.ts";
import { formatListed, incomplete, parseFooter, parseListed, threadKeys, unreadable } from "./keys.ts";
import { listThreads } from "./list.ts";
import { commitScript, deleteScript, readRangeScript, runScript, type Script } from "./scripts.ts";

const capabilities: DriverCapabilities = Object.freeze({
  backend: "redis",
  maxMessageBytes: 16 * 1024 ** 2,
  maxCommitBytes: 64 * 1024 ** 2,
  maxCommitMessages: Number.MAX_SAFE_INTEGER,
  sharing: "network",
  expiry: true,
  trimmedWithinCommits: 0,
  deletedWithinMs: REMEMBERED_MS,
  index: Object.freeze({ maxValueBytes: MAX_VALUE_BYTES }),
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
});

/** The fields of the hash that a read needs. */
const META_FIELDS = ["revision", "metadata"];
/** Redis 6.2 accepts 1,048,576 arguments per command. */
const MAX_MESSAGES_PER_COMMIT = 1_000_000;

/** The result of a read: the requested elements of the list, the thread's footer, and the revision and metadata from its hash. */
interface Found {
  readonly listed: readonly string[];
  readonly footer: string | undefined;
  readonly meta?: { readonly revision: string | null; readonly metadata: string | null };
}

/** The driver for Redis. A thread is a list and a hash; a commit or deletion is one script. `commit.ts` has the layout. */
export class RedisDriver implements Driver {
  readonly capabilities: DriverCapabilities;
  readonly target: DriverTarget | undefined;
  readonly index: RedisEntries;
  readonly #connection: Connection;
  readonly #keyPrefix: string;

  constructor(connection: Connection, keyPrefix = "scrollback") {
    this.#connection = connection;
    this.#keyPrefix = keyPrefix;
    this.capabilities = Object.freeze({ ...capabilities, ...connection.limits });
    this.target = connection.target;
    const send: EntrySource["send"] = (request, command) => this.#send(request, command);
    this.index = new RedisEntries({ clientPrefix: connection.keyPrefix, keyPrefix, send });
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { threadId, append } = request;
    if (append.length > MAX_MESSAGES_PER_COMMIT) {
      const problem = `${append.length} messages in one commit; the limit is ${MAX_MESSAGES_PER_COMMIT}`;
      throw new StoreError("TOO_LARGE", `append: ${problem}`);
    }
    const { messages, meta, deleted, deletedBefore } = threadKeys(this.#keyPrefix, threadId);
    const keys = this.#connection.isCluster ? [messages, meta] : [messages, meta, deleted, deletedBefore];
    const [outcome, detail] = await this.#write(request, commitScript, keys, argumentsOf(request));
    if (outcome === "incomplete") throw incomplete(threadId);
    return { outcome, revision: detail || null } as CommitOutcome;
  }

  async delete(request: DeleteRequest): Promise<DeleteOutcome> {
    const { threadId, operationId, expectedRevision } = request;
    const { messages, meta, deleted, deletedBefore } = threadKeys(this.#keyPrefix, threadId);
    const values = [operationId, expectedArgument(expectedRevision)];
    const [outcome, detail] = await this.#write(
      request,
      deleteScript,
      [messages, meta, deleted, deletedBefore],
      values,
    );
    if (outcome !== "revision-conflict") return { outcome } as DeleteOutcome;
    return { outcome, revision: detail || null };
  }

  async list(request: ListRequest): Promise<ThreadListing> {
    const { signal } = request;
    const read = { limit: 0, before: undefined, after: undefined, metadata: true, signal };
    return await listThreads(request, {
      clientPrefix: this.#connection.keyPrefix,
      keyPrefix: this.#keyPrefix,
      send: (command) => this.#send(request, command),
      read: (threadId) => this.read({ ...read, threadId }),
    });
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const { before, after, metadata } = request;
    if (before !== undefined || after !== undefined) return await this.#readAtOnce(request);
    if (!metadata) return await this.#readList(request);
    // ioredis may send only a part of a pipeline to a cluster, and then assigns later replies on that connection to the
    // wrong commands.
    return this.#connection.isCluster ? await this.#readAtOnce(request) : await this.#readBoth(request);
  }

  async close(): Promise<void> {
    this.#connection.close();
  }

  classifyError(error: unknown): ErrorClassification | undefined {
    return classifyError(error, this.#connection.server);
  }

  async #readList(request: ReadRequest): Promise<ThreadView> {
    const { messages } = threadKeys(this.#keyPrefix, request.threadId);
    const list = await this.#send(request, (commands) => commands.call(newestOf(messages, request)));
    return toView(request, splitFooter(list as string[])) ?? raise(incomplete(request.threadId));
  }

  /**
   * Reads both keys in one request, but not atomically. The revisions in both tell whether they belong together. A script
   * would copy every message, and servers that are out of memory refuse transactions.
   */
  async #readBoth(request: ReadRequest): Promise<ThreadView> {
    const { messages, meta } = threadKeys(this.#keyPrefix, request.threadId);
    const both = [newestOf(messages, request), { words: ["hmget"], keys: [meta], values: META_FIELDS }];
    const replies = await this.#send(request, (commands) => commands.pipeline(both));
    const [list, [revision = null, metadata = null]] = replies as [string[], (string | null)[]];
    const view = toView(request, { ...splitFooter(list), meta: { revision, metadata } });
    return view ?? (await this.#readAtOnce(request));
  }

  async #readAtOnce(request: ReadRequest): Promise<ThreadView> {
    const { threadId, before, after, limit } = request;
    const { messages, meta } = threadKeys(this.#keyPrefix, threadId);
    const values = [
      after === undefined ? "before" : "after",
      String(after ?? before ?? Number.MAX_SAFE_INTEGER),
      String(Math.min(limit, Number.MAX_SAFE_INTEGER)),
    ];
    const reply = await this.#send(request, (commands) =>
      runScript(commands, readRangeScript, [messages, meta], values),
    );
    const [footer, listed = [], revision = null, metadata = null] = reply as [
      string?,
      string[]?,
      (string | null)?,
      (string | null)?,
    ];
    return toView(request, { footer, listed, meta: { revision, metadata } }) ?? raise(incomplete(threadId));
  }

  /** Runs a script that writes to a thread. Returns the two parts of its reply: the outcome and a detail. */
  async #write(
    request: CommitRequest | DeleteRequest,
    script: Script,
    keys: readonly string[],
    values: readonly string[],
  ): Promise<readonly [outcome: string, detail: string]> {
    const reply = (await this.#send(request, (commands) =>
      runScript(commands, script, keys, values, () => assertInTime(request)),
    )) as string;
    const space = reply.indexOf(" ");
    const [outcome, detail] = [reply.slice(0, space), reply.slice(space + 1)];
    if (outcome === "unreadable") throw unreadable(request.threadId, detail);
    return [outcome, detail];
  }

  #send<T>(
    request: Partial<Pick<DeleteRequest, "signal" | "sendBefore">>,
    command: (commands: OpenCommands) => Promise<T>,
  ): Promise<T> {
    return this.#connection.run((commands) => {
      request.signal?.throwIfAborted();
      assertInTime(request);
      return command(commands);
    }, request.signal);
  }
}

/**
 * The attempt may have waited for a connection. The server may have forgotten the first attempt when a later one arrives.
 *
 * @throws StoreError `UNAVAILABLE`, retryable.
 */
function assertInTime({ sendBefore }: Pick<DeleteRequest, "sendBefore">): void {
  if (sendBefore === undefined || performance.now() < sendBefore) return;
  const message =
    "redis: the outcome is unknown; repeat the call with the same operationId, or read the thread first";
  throw new StoreError("UNAVAILABLE", message, { retryable: true });
}

/** The arguments of `commit.ts`. */
function argumentsOf(request: CommitRequest): string[] {
  const { operationId, digest, newIncarnation, expectedRevision, drop, append, metadata } = request;
  const { maxMessages = 0, trimming, ttlMs = 0, createdAt, updatedAt } = request;
  const limit = trimming === "exact" && maxMessages > 0 ? `=${maxMessages}` : `${maxMessages}`;
  const times = createdAt === updatedAt ? `${updatedAt}` : `${updatedAt} ${createdAt}`;
  const values = [operationId, digest, newIncarnation, limit, `${ttlMs}`, times];
  if (expectedRevision === undefined && drop === 0 && metadata === undefined) values.push("append");
  else {
    values.push(
      "change",
      expectedArgument(expectedRevision),
      `${drop}`,
      metadata === undefined ? "keep" : metadata === null ? "remove" : `=${metadata}`,
    );
  }
  return values.concat(append.map(formatListed));
}

function expectedArgument(expectedRevision: CommitRequest["expectedRevision"]): string {
  if (expectedRevision === undefined) return "any";
  return expectedRevision === null ? "none" : `=${expectedRevision}`;
}

/** The command that reads the newest records of the list, counted from its end. The footer is one more element. */
function newestOf(messages: string, { limit }: ReadRequest): Command {
  const start = Number.isFinite(limit) ? -limit - 1 : 0;
  return { words: ["lrange"], keys: [messages], values: [`${start}`, "-1"] };
}

function splitFooter(list: string[]): Found {
  const footer = list.pop();
  return { listed: list, footer };
}

/** Returns the view, or undefined if the parts do not belong to the same revision. */
function toView(request: ReadRequest, { listed, footer: text, meta }: Found): ThreadView | undefined {
  if (text === undefined) return NO_THREAD;
  const { revision, bounds, newestCompaction, times } = parseFooter(request.threadId, text);
  const wanted = SequenceBounds.selectRange(bounds, request);
  if (listed.length !== SequenceBounds.countOf(wanted) || (meta && meta.revision !== revision))
    return undefined;
  const pinned = SequenceBounds.pinnedOf(wanted);
  const entries = listed.map((message, index) => ({
    sequence: pinned[index] ?? wanted.first + index - pinned.length,
    ...parseListed(message),
  }));
  const metadata = request.metadata ? meta?.metadata : undefined;
  return {
    revision,
    count: SequenceBounds.countOf(bounds),
    first: SequenceBounds.firstOf(bounds),
    last: SequenceBounds.lastOf(bounds),
    newestCompaction,
    entries,
    ...times,
    ...(typeof metadata === "string" && { metadata }),
  };
}
