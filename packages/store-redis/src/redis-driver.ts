import {
  type CommitOutcome,
  type CommitRequest,
  countOf,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClass,
  firstOf,
  lastOf,
  type ReadRequest,
  StoreError,
  selectRange,
  type ThreadView,
} from "@scrollback/store-core";
import { type ConnectionWatch, watchConnection } from "./connection-errors.ts";
import { classifyError, isUnreachable, withoutArguments } from "./errors.ts";
import { Handshake } from "./handshake.ts";
import { incomplete, parseFooter, threadKeys, unreadable } from "./keys.ts";
import { type RedisClient, targetOf } from "./options.ts";
import { commitScript, readRangeScript, runScript } from "./scripts.ts";
import { untilReady } from "./until-ready.ts";

const capabilities: DriverCapabilities = Object.freeze({
  backend: "redis",
  maxMessageBytes: 16 * 1024 ** 2,
  maxCommitBytes: 64 * 1024 ** 2,
  maxCommitMessages: Number.MAX_SAFE_INTEGER,
  sharing: "network",
  expiry: true,
  trimmedWithinCommits: 0,
  roundTrips: Object.freeze({ commit: 1, read: 1 }),
});

/** Redis 6.2 takes 1,048,576 arguments a command. */
const MAX_RECORDS_PER_COMMIT = 1_000_000;

/** What a read found: the records asked for, and the thread's footer; of its hash the revision and the metadata. */
interface Found {
  readonly records: readonly string[];
  readonly footer: string | undefined;
  readonly meta?: { readonly revision: string | null; readonly metadata: string | null };
}

/** The driver for Redis: a list and a hash a thread, a script a commit; `commit.lua` states the layout. */
export class RedisDriver implements Driver {
  readonly capabilities: DriverCapabilities = capabilities;
  readonly target: DriverTarget | undefined;
  readonly #client: RedisClient;
  readonly #keyPrefix: string;
  readonly #owned: boolean;
  readonly #handshake: Handshake;
  readonly #connection: ConnectionWatch;

  /** @param owned whether the client was opened for this driver alone, which then watches over it and closes it. */
  constructor(how: { client: RedisClient; keyPrefix?: string | undefined; owned: boolean }) {
    this.#client = how.client;
    this.#keyPrefix = how.keyPrefix ?? "scrollback";
    this.#owned = how.owned;
    this.#handshake = new Handshake(how.client, how.owned);
    this.target = targetOf(how.client);
    this.#connection = watchConnection(how.client);
  }

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { threadId, append } = request;
    if (append.length > MAX_RECORDS_PER_COMMIT) {
      const problem = `${append.length} messages in one commit, at most ${MAX_RECORDS_PER_COMMIT} fit`;
      throw new StoreError("TOO_LARGE", `append: ${problem}`);
    }
    const keys = threadKeys(this.#keyPrefix, threadId);
    const run = () => runScript(this.#client, commitScript, keys, argumentsOf(request));
    const reply = (await this.#send(request, run)) as string;
    const space = reply.indexOf(" ");
    const [outcome, detail] = [reply.slice(0, space), reply.slice(space + 1)];
    if (outcome === "unreadable") throw unreadable(threadId, detail);
    if (outcome === "incomplete") throw incomplete(threadId);
    return { outcome, revision: detail || null } as CommitOutcome;
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const { before, after, metadata } = request;
    if (before !== undefined || after !== undefined) return await this.#readAtOnce(request);
    if (!metadata) return await this.#readList(request);
    // Of a pipeline to a cluster ioredis may send one part and not the other, and then takes the replies that follow on that
    // connection for those of other commands.
    return this.#client.isCluster ? await this.#readAtOnce(request) : await this.#readBoth(request);
  }

  async close(): Promise<void> {
    if (!this.#owned) return;
    // ioredis leaves its queue waiting for ever when it is stopped in a pause before it connects again.
    if (this.#client.status === "reconnecting") this.#client.connect().catch(() => undefined);
    this.#client.disconnect();
  }

  classifyError(error: unknown): ErrorClass | undefined {
    return classifyError(error, this.#connection.server);
  }

  async #readList(request: ReadRequest): Promise<ThreadView> {
    const { messages } = threadKeys(this.#keyPrefix, request.threadId);
    const list = await this.#send(request, () => this.#client.lrange(messages, startOf(request), -1));
    return toView(request, splitFooter(list)) ?? raise(incomplete(request.threadId));
  }

  /**
   * Both keys in one request, but not as one step: whether they belong together, the revision in each tells. A script would
   * copy every record on its way out, and servers without memory to spare refuse transactions.
   */
  async #readBoth(request: ReadRequest): Promise<ThreadView> {
    const { messages, meta } = threadKeys(this.#keyPrefix, request.threadId);
    const replies = await this.#send(request, async () => {
      const both = this.#client.pipeline();
      both.lrange(messages, startOf(request), -1).hmget(meta, "revision", "metadata");
      return ((await both.exec()) ?? []).map(([error, reply]) => (error ? raise(error) : reply));
    });
    const [list, [revision = null, metadata = null]] = replies as [string[], (string | null)[]];
    const view = toView(request, { ...splitFooter(list), meta: { revision, metadata } });
    return view ?? (await this.#readAtOnce(request));
  }

  async #readAtOnce(request: ReadRequest): Promise<ThreadView> {
    const { threadId, before, after, limit } = request;
    const keys = threadKeys(this.#keyPrefix, threadId);
    const values = [
      after === undefined ? "before" : "after",
      String(after ?? before ?? Number.MAX_SAFE_INTEGER),
      String(Math.min(limit, Number.MAX_SAFE_INTEGER)),
    ];
    const run = () => runScript(this.#client, readRangeScript, keys, values);
    const reply = await this.#send(request, run);
    const [footer, records = [], revision = null, metadata = null] = reply as [
      string?,
      string[]?,
      (string | null)?,
      (string | null)?,
    ];
    return toView(request, { footer, records, meta: { revision, metadata } }) ?? raise(incomplete(threadId));
  }

  async #send<T>({ signal }: CommitRequest | ReadRequest, command: () => Promise<T>): Promise<T> {
    try {
      // Awaited only where there is something to wait for: each await is a turn of the queue of promises.
      const ready = untilReady(this.#client);
      if (ready) await ready;
      const granted = this.#handshake.ensure();
      if (granted) await granted;
      signal?.throwIfAborted();
      return await command();
    } catch (error) {
      throw this.#afterFailure(error);
    }
  }

  #afterFailure(error: unknown): unknown {
    if (!isUnreachable(error)) return withoutArguments(error);
    if (this.#owned && error.message === "Command timed out") {
      // A connection that has gone silent may never tell: the next attempt gets a new one.
      this.#connection.error = withoutArguments(error);
      this.#client.disconnect(true);
    } else if (error !== this.#connection.error) {
      error.cause ??= this.#connection.error;
    }
    return withoutArguments(error);
  }
}

/** What `commit.lua` takes. */
function argumentsOf(request: CommitRequest): string[] {
  const { operationId, digest, newEpoch, expectedRevision, drop, append, metadata } = request;
  const { maxMessages = 0, trimming, ttlMs = 0 } = request;
  const limit = trimming === "exact" && maxMessages > 0 ? `=${maxMessages}` : `${maxMessages}`;
  const values = [operationId, digest, newEpoch, limit, `${ttlMs}`];
  if (expectedRevision === undefined && drop === 0 && metadata === undefined) values.push("append");
  else {
    values.push(
      "change",
      expectedRevision === undefined ? "any" : expectedRevision === null ? "none" : `=${expectedRevision}`,
      `${drop}`,
      metadata === undefined ? "keep" : metadata === null ? "remove" : `=${metadata}`,
    );
  }
  return values.concat(append);
}

/** Where the newest records begin in the list, counted from its end. The footer is one element more. */
function startOf({ limit }: ReadRequest): number {
  return Number.isFinite(limit) ? -limit - 1 : 0;
}

function splitFooter(list: string[]): Found {
  const footer = list.pop();
  return { records: list, footer };
}

/** The view of what was found; undefined where its parts do not belong together. */
function toView(request: ReadRequest, { records, footer: text, meta }: Found): ThreadView | undefined {
  if (text === undefined) return { revision: null, count: 0, first: 0, last: 0, entries: [] };
  const { revision, extent } = parseFooter(request.threadId, text);
  const wanted = selectRange(extent, request);
  if (records.length !== countOf(wanted) || (meta && meta.revision !== revision)) return undefined;
  const pinned = wanted.pinned === null ? 0 : 1;
  const entries = records.map((record, index) => ({
    sequence: index < pinned ? (wanted.pinned ?? 0) : wanted.first + index - pinned,
    record,
  }));
  const metadata = request.metadata ? meta?.metadata : undefined;
  return {
    revision,
    count: countOf(extent),
    first: firstOf(extent),
    last: lastOf(extent),
    entries,
    ...(typeof metadata === "string" && { metadata }),
  };
}

function raise(error: Error): never {
  throw error;
}
