// Longer than a room should be: the whole way of a commit stands here, step by step.
import { randomBytes } from "node:crypto";
import {
  type CommitOutcome,
  type CommitRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClass,
  formatRevision,
  REMEMBERED_OPERATIONS,
  type ReadRequest,
  type ThreadView,
} from "../driver.ts";
import { StoreError } from "../errors.ts";
import { pause } from "../retry.ts";
import { EMPTY_EXTENT } from "../trimming.ts";
import {
  catchUp,
  deepen,
  knowsOperations,
  type LogChain,
  reaches,
  readChain,
  rememberedCommits,
  stack,
} from "./log-chain.ts";
import { collect, headsOf } from "./log-collect.ts";
import { physicalExpiry, renew } from "./log-lease.ts";
import { COLLECT_EVERY, currentOf, lowestNeeded, mayPin, oldestRemembered, planRow } from "./log-plan.ts";
import { type PageHint, readThread } from "./log-reader.ts";
import { formatHead, type LogHead, type Parts, type ThreadEnd } from "./log-record.ts";
import { fitsRow, layOut, partStream, threadStream } from "./parts.ts";
import type { LogRow, RecordLog } from "./record-log.ts";

/** For how long a writer trusts what it knows of a log's end: far below the life of any key that a row has freed. */
const TRUSTED_MS = 5 * 60 * 1000;
const MAX_ATTEMPTS = 200;
/** Writers that win do not pause, so one that loses must come back soon to win at all: after 100 ms at most. */
const LONGEST_PAUSE = 2;
const KNOWN_THREADS = 1_000;
/** How many heads a first write reads in one request at most, where it may have to trim. */
const ROWS_AT_FIRST = 500;
const PARTS_AT_ONCE = 4;

/** The two clocks that a driver looks at; given by tests. */
export interface Clock {
  /** Milliseconds since the epoch. */
  wall(): number;
  /** Milliseconds that never go back. */
  monotonic(): number;
}

const systemClock: Clock = { wall: () => Date.now(), monotonic: () => performance.now() };

/** What this process knows of a thread's log. */
interface Knowledge {
  readonly chain: LogChain;
  readonly learned: { readonly wall: number; readonly monotonic: number };
  /** Whether what the last row tells of as discarded has been blanked. */
  readonly isCollected: boolean;
}

interface Staged {
  readonly token: string;
  readonly parts: Parts;
}

const EMPTY_END: ThreadEnd = Object.freeze({
  extent: EMPTY_EXTENT,
  firstRow: 1,
  cut: 0,
  latest: 0,
  discarded: [],
  spent: [],
  staged: [],
  hasParts: false,
});

/**
 * Makes a {@link Driver} of a {@link RecordLog}. A thread is a log of commit records; a commit is one insert of the next
 * one. Whoever inserts first wins, the others learn what won and try the next number.
 *
 * In the steady state a commit is one insert and a read of the newest few is one range read. A first write through a cold
 * cache costs one read more; every 32nd commit of a thread that trims or drops costs one amendment more.
 */
export class RecordLogDriver implements Driver {
  readonly capabilities: DriverCapabilities;
  readonly target: DriverTarget | undefined;
  readonly #log: RecordLog;
  readonly #clock: Clock;
  /** By stream, least recently used first. */
  readonly #known = new Map<string, Knowledge>();
  readonly #pages = new Map<string, PageHint>();
  /** Commits of one process to one thread queue up instead of racing each other. */
  readonly #queues = new Map<string, Promise<unknown>>();
  /** The row that a commit may have inserted, where that is not known yet: by stream and operation id. */
  readonly #attempted = new Map<string, number>();

  constructor(log: RecordLog, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
    this.capabilities = Object.freeze({
      backend: log.capabilities.backend,
      sharing: log.capabilities.sharing,
      roundTrips: log.capabilities.roundTrips,
      maxMessageBytes: 16 * 1024 ** 2,
      maxCommitBytes: 64 * 1024 ** 2,
      expiry: true,
      trimmedWithinCommits: 2 * COLLECT_EVERY,
    });
    this.target = log.target;
    const { setup } = log;
    if (setup) this.setup = () => setup.call(log);
  }

  setup?: () => Promise<void>;

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const stream = threadStream(request.threadId);
    const before = this.#queues.get(stream);
    const commit = (async () => {
      await before?.catch(() => undefined);
      return await this.#commit(stream, request);
    })();
    this.#queues.set(stream, commit);
    try {
      return await commit;
    } catch (error) {
      // Whether the insert happened is unknown, so what is known of the end may be wrong.
      this.#known.delete(stream);
      throw error;
    } finally {
      if (this.#queues.get(stream) === commit) this.#queues.delete(stream);
    }
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const stream = threadStream(request.threadId);
    const hints = { end: this.#known.get(stream)?.chain.heads[0], pageEnd: this.#pages.get(stream) };
    const { view, page } = await readThread(this.#log, stream, request, () => this.#clock.wall(), hints);
    if (page) remember(this.#pages, stream, page);
    return view;
  }

  async close(): Promise<void> {
    this.#known.clear();
    this.#attempted.clear();
    this.#pages.clear();
    await this.#log.close();
  }

  classifyError(error: unknown): ErrorClass | undefined {
    return this.#log.classifyError(error);
  }

  async #commit(stream: string, request: CommitRequest): Promise<CommitOutcome> {
    let staged: Staged | undefined;
    let cached = this.#trusted(stream);
    const key = attemptKey(stream, request);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (attempt > 1) await pause(Math.min(attempt - 2, LONGEST_PAUSE), request.signal);
      const attempted = this.#attempted.get(key);
      const knowledge = await this.#reachDownTo(
        attempted,
        stream,
        cached ?? (await this.#learn(stream, request.maxMessages)),
      );
      // One moment for all that this attempt decides: whether the thread is there must not change on the way.
      const now = this.#clock.wall();
      const settled = this.#settle(knowledge.chain, request, attempted, now);
      // Its number is taken, by this commit or by another for good.
      if (attempted !== undefined && attempted <= knowledge.chain.top) this.#attempted.delete(key);
      if (settled) {
        // Another process may have gone on since; an id that was used stays used.
        if (cached && settled.outcome === "revision-conflict") {
          cached = undefined;
          continue;
        }
        if (settled.outcome === "repeated" && request.drop === "all")
          await this.#finishClear(stream, knowledge);
        return settled;
      }
      const needsParts = !fitsRow(
        [...request.append, request.metadata ?? ""],
        this.#log.capabilities.maxRowBytes,
      );
      if (needsParts && !isStaged(staged, knowledge.chain)) {
        staged = await this.#stage(stream, request, knowledge);
        cached = undefined;
        continue;
      }
      const result = await this.#insert(stream, request, knowledge, staged, now);
      if (result && "outcome" in result) {
        this.#attempted.delete(key);
        return result;
      }
      // Whoever loses twice is better off with a look at the end than with the winner of every number.
      cached = attempt === 0 ? result : undefined;
    }
    throw new StoreError("UNAVAILABLE", `the thread has too many writers: ${MAX_ATTEMPTS} attempts lost`, {
      retryable: true,
    });
  }

  /** What this process knows, if it learned it a short while ago and the thread has not expired since. */
  #trusted(stream: string): Knowledge | undefined {
    const knowledge = this.#known.get(stream);
    if (!knowledge || !this.#isFresh(knowledge)) return undefined;
    const end = knowledge.chain.heads[0];
    return end && end.n > 0 && currentOf(knowledge.chain, this.#clock.wall()) === undefined
      ? undefined
      : knowledge;
  }

  #isFresh({ learned }: Knowledge): boolean {
    const wall = this.#clock.wall() - learned.wall;
    const monotonic = this.#clock.monotonic() - learned.monotonic;
    return Math.abs(wall) < TRUSTED_MS && monotonic < TRUSTED_MS;
  }

  #now(): Knowledge["learned"] {
    return { wall: this.#clock.wall(), monotonic: this.#clock.monotonic() };
  }

  /** Learns the end, and what a commit that trims to `maxMessages` has to know, in one read where that is not too much. */
  async #learn(stream: string, maxMessages = 0): Promise<Knowledge> {
    const learned = this.#now();
    const known = this.#known.get(stream);
    const caughtUp =
      known && this.#isFresh(known) ? await catchUp(this.#log, stream, known.chain, learned.wall) : undefined;
    // Below what is kept stands the row that the lowest one was built on.
    const wanted = Math.max(REMEMBERED_OPERATIONS, Math.min(maxMessages, ROWS_AT_FIRST)) + 1;
    const read = caughtUp ?? (await readChain(this.#log, stream, wanted, learned.wall));
    const chain = await deepen(this.#log, stream, read, knowsOperations);
    const knowledge = { chain, learned, isCollected: false };
    this.#remember(stream, knowledge);
    return knowledge;
  }

  #remember(stream: string, knowledge: Knowledge): void {
    remember(this.#known, stream, knowledge);
  }

  /** What is known, and at least all rows from the one on that a commit may have inserted already, however many. */
  async #reachDownTo(from: number | undefined, stream: string, knowledge: Knowledge): Promise<Knowledge> {
    if (from === undefined) return knowledge;
    const isEnough = ({ heads }: LogChain) => (heads.at(-1)?.number ?? 0) <= from;
    return { ...knowledge, chain: await deepen(this.#log, stream, knowledge.chain, isEnough) };
  }

  #settle(
    chain: LogChain,
    request: CommitRequest,
    attempted: number | undefined,
    now: number,
  ): CommitOutcome | undefined {
    const current = currentOf(chain, now);
    const revision = current ? formatRevision(current.epoch, current.n) : null;
    const same =
      current &&
      rememberedCommits(chain, attempted).find(({ commit }) => commit.operationId === request.operationId);
    if (same) {
      return same.commit.digest === request.digest
        ? { outcome: "repeated", revision: formatRevision(same.epoch, same.n) }
        : { outcome: "operation-conflict", revision };
    }
    if (request.expectedRevision === undefined || request.expectedRevision === revision) return undefined;
    return { outcome: "revision-conflict", revision };
  }

  /** A drop of all that failed after its insert may have left what it dropped. */
  async #finishClear(stream: string, { chain, isCollected }: Knowledge): Promise<void> {
    const last = chain.heads[0];
    if (!last || isCollected || last.end.discarded.length === 0) return;
    await collect(this.#log, stream, last.end, oldestRemembered(chain, last.n), this.#clock.wall());
  }

  /**
   * Inserts the commit's row. Knowledge: another writer was first, and this is the log with its row. Undefined: all that is
   * known is that another was first, or that the insert came too late.
   */
  async #insert(
    stream: string,
    request: CommitRequest,
    knowledge: Knowledge,
    staged: Staged | undefined,
    now: number,
  ): Promise<CommitOutcome | Knowledge | undefined> {
    const log = this.#log;
    const chain = await this.#deepenFor(stream, knowledge.chain, request, now);
    const leading = await this.#leadingRow(stream, chain, request, now);
    const current = currentOf(chain, now);
    const n = (current?.n ?? 0) + 1;
    const oldest = oldestRemembered(chain, n);
    const last = chain.heads[0];
    let { isCollected } = knowledge;
    if (last && !isCollected && n % COLLECT_EVERY === 0) {
      await collect(log, stream, last.end, oldest, now);
      isCollected = true;
    }
    const number = chain.top + 1;
    const planned = planRow(chain, request, number, now, leading, isCollected, staged?.token);
    const lease = await renew(log, stream, current, oldest, planned.end, request.ttlMs);
    const { texts, commit, ...rest } = planned;
    const head: LogHead = {
      ...rest,
      number,
      ...identity(last),
      commit: { ...commit, parts: staged?.parts },
      end: { ...planned.end, lease },
    };
    const expiresAt = physicalExpiry(head.end, request.ttlMs);
    const row = { number, head: formatHead(head), texts: staged ? [] : texts, expiresAt };
    const sent = this.#now();
    // The client beneath may send it twice and be told that its own row was first.
    remember(this.#attempted, attemptKey(stream, request), number);
    const inserted = await log.insert(stream, row);
    if (inserted !== true) return inserted ? this.#overtaken(stream, knowledge, inserted, sent) : undefined;
    if (!(await this.#isInTime(stream, knowledge, head))) return undefined;

    const grown = {
      heads: prune([head, ...chain.heads], request.maxMessages),
      top: number,
      exhausted: false,
    };
    const collected = request.drop === "all";
    if (collected) await collect(log, stream, head.end, oldest, now);
    this.#remember(stream, { chain: grown, learned: knowledge.learned, isCollected: collected });
    this.#refresh(stream, knowledge);
    return { outcome: "committed", revision: formatRevision(head.epoch, head.n) };
  }

  /** What a writer knows that was shown the row that won. */
  #overtaken(
    stream: string,
    { chain }: Knowledge,
    winner: LogRow,
    learned: Knowledge["learned"],
  ): Knowledge | undefined {
    const grown = stack([winner], chain, learned.wall);
    if (!grown) return undefined;
    const knowledge = { chain: grown, learned, isCollected: false };
    this.#remember(stream, knowledge);
    return knowledge;
  }

  /** An insert that was acknowledged shows that the end was known rightly when it was sent. */
  #refresh(stream: string, before: Knowledge): void {
    const after = this.#known.get(stream);
    if (after && this.#isFresh(before)) this.#remember(stream, { ...after, learned: this.#now() });
  }

  /**
   * Whether an inserted row is part of the thread. Not when the writer had learned the end so long ago that the row's key
   * may have been free again; then it is blanked, and the commit starts over.
   */
  async #isInTime(stream: string, knowledge: Knowledge, head: LogHead): Promise<boolean> {
    if (this.#isFresh(knowledge)) return true;
    const { chain } = await this.#learn(stream);
    const whole = await deepen(
      this.#log,
      stream,
      chain,
      ({ heads }) => (heads.at(-1)?.number ?? 0) <= head.number,
    );
    if (whole.heads.some((known) => known.number === head.number && known.token === head.token)) return true;
    await this.#log.amend(stream, [{ from: head.number, to: head.number, blank: "all" }]);
    return false;
  }

  async #deepenFor(stream: string, chain: LogChain, request: CommitRequest, now: number): Promise<LogChain> {
    const needed = lowestNeeded(chain, request, now);
    const isReached = (known: LogChain) => reaches(known, needed);
    const current = currentOf(chain, now);
    if (!current) return chain;
    const rows = (chain.heads.at(-1)?.number ?? 0) - current.end.firstRow;
    return await deepen(this.#log, stream, chain, isReached, Math.max(REMEMBERED_OPERATIONS, rows));
  }

  async #leadingRow(
    stream: string,
    chain: LogChain,
    request: CommitRequest,
    now: number,
  ): Promise<LogHead | undefined> {
    const current = currentOf(chain, now);
    if (!current || !mayPin(chain, request, now) || reaches(chain, current.end.extent.first))
      return undefined;
    return (await headsOf(this.#log, stream, current.end.firstRow, current.end.firstRow))[0];
  }

  /**
   * Puts a commit's texts into parts. They are announced in the log first, so that later commits find and remove them if
   * this one never comes; they show with the commit's own row.
   */
  async #stage(stream: string, request: CommitRequest, knowledge: Knowledge): Promise<Staged | undefined> {
    const token = randomBytes(9).toString("base64url");
    const texts = [...request.append, ...(typeof request.metadata === "string" ? [request.metadata] : [])];
    const { parts, rows } = layOut(texts, token, this.#log.capabilities.maxRowBytes);
    const { chain } = knowledge;
    const last = chain.heads[0];
    const end = last?.end ?? EMPTY_END;
    const number = chain.top + 1;
    const n = last?.n ?? 0;
    const announced: LogHead = {
      number,
      ...identity(last),
      epoch: last?.epoch ?? request.newEpoch,
      n,
      end: { ...end, staged: [...end.staged, [token, n]], hasParts: true },
    };
    const { ttlMs } = request;
    const now = this.#clock.wall();
    const latest = Math.max(
      n > 0 ? end.latest : 0,
      ttlMs === undefined ? Number.POSITIVE_INFINITY : now + ttlMs,
    );
    // An announcement alone is no thread: nobody misses it once its writer is long gone.
    const expiresAt = physicalExpiry(n > 0 ? end : { latest: now }, ttlMs);
    const row = { number, head: formatHead(announced), texts: [], expiresAt };
    if ((await this.#log.insert(stream, row)) !== true) return undefined;
    if (!(await this.#isInTime(stream, knowledge, announced))) return undefined;
    for (let at = 0; at < rows.length; at += PARTS_AT_ONCE) {
      const some = rows.slice(at, at + PARTS_AT_ONCE);
      const partsExpireAt = physicalExpiry({ latest }, ttlMs);
      await Promise.all(
        some.map((part) =>
          this.#log.insert(partStream(stream, token), { ...part, expiresAt: partsExpireAt }),
        ),
      );
    }
    return { token, parts };
  }
}

function identity(last: LogHead | undefined): Pick<LogHead, "token" | "base"> {
  return {
    token: randomBytes(6).toString("base64url"),
    base: last ? { number: last.number, token: last.token } : { number: 0, token: "" },
  };
}

/** A commit of a thread, under the id that it keeps when it is sent again. Streams are well-formed. */
function attemptKey(stream: string, { operationId }: CommitRequest): string {
  return JSON.stringify([stream, operationId]);
}

/** Whether parts are announced and not condemned by a later commit. */
function isStaged(staged: Staged | undefined, { heads }: LogChain): boolean {
  return staged !== undefined && (heads[0]?.end.staged ?? []).some(([token]) => token === staged.token);
}

/** Keeps as many rows in mind as a commit usually needs; more are read when it needs them. */
function prune(heads: LogHead[], maxMessages = 0): LogHead[] {
  const kept = 2 * REMEMBERED_OPERATIONS + maxMessages;
  return heads.length > 2 * kept ? heads.slice(0, kept) : heads;
}

function remember<T>(map: Map<string, T>, stream: string, value: T): void {
  map.delete(stream);
  map.set(stream, value);
  const [oldest] = map.keys();
  if (map.size > KNOWN_THREADS && oldest !== undefined) map.delete(oldest);
}
