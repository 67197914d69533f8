// Exceeds 300 lines because it has all steps of a commit in order, and the correctness depends on the order.

import { StoreError } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type CommitRequest,
  expiryAfter,
  formatRevision,
} from "@scrollback/store-core/driver";
import { type Clock, newIncarnation as newToken, throwIfAborted } from "@scrollback/store-core/internal";
import {
  areClose,
  type Chain,
  type CommittedOperation,
  commitIn,
  isAlive,
  isRecent,
  MAX_ATTEMPTS,
  MissingRow,
  type Moment,
  momentOf,
  StartOver,
  tooManyWriters,
} from "../chain/chain.ts";
import { learn, linkRow } from "../chain/learn.ts";
import { isNeeded, NotLocated, readTowards } from "../chain/locate.ts";
import { type Amendment, FIRST_ROW, type LogRow, type RecordLog } from "../record-log.ts";
import {
  EXPIRY_MARGIN_MS,
  expiryOf,
  FREED_MS,
  finite,
  keepsPromise,
  never,
  outlivesLateRoots,
  RAISE_AHEAD_MS,
  ROOT_EXPIRY_MS,
  SOLID_MARGIN_MS,
} from "../rows/expiry.ts";
import type { Fragment, Upload } from "../rows/field-types.ts";
import { decodeHeadIfSound, encodeHead, type Head } from "../rows/format.ts";
import { fitsRow, layOut } from "../rows/fragments.ts";
import { mergeRanges, rowAlone } from "../rows/ranges.ts";
import type { Attempt, Operation } from "./attempts.ts";
import { blankDead, isCollectionDue, planCollection } from "./collect.ts";
import type { Contention } from "./contention.ts";
import { NotTogether, type RowRequest } from "./group.ts";
import { lowestRow, nextNumber, type PlannedRow, type PlanOptions, planRow, repeatHead } from "./plan.ts";

/** The number of rows between two milliseconds of the clock that numbers first rows. */
const ROWS_PER_MS = 2_048;
const MAX_UPLOADS = 8;
/** An upload whose rows lie in more ranges than this has too many other writers between its own inserts. */
const MAX_UPLOAD_RANGES = 64;
/** A head with more entries of dead texts and rows is collected at once. */
const MAX_DEAD_ENTRIES = 128;

const LONG_AGO: Moment = { wall: Number.NEGATIVE_INFINITY, monotonic: Number.NEGATIVE_INFINITY };

/** A writer that lost at a number then knows the row there, and tries the next number. */
const MAX_LOSSES = 5;

/** Thrown to restart an attempt because another writer was first. */
class Lost extends StartOver {}

/** A process's cached state of one stream. */
export interface StreamMemory {
  chain: Chain | undefined;
  readonly contention: Contention;
}

const NONE: readonly never[] = [];

/** One commit to one stream, or several that share a row: `commit()` is called once. */
export class CommitWriter {
  readonly #log: RecordLog;
  readonly #clock: Clock;
  readonly #stream: string;
  readonly #request: RowRequest;
  readonly #memory: StreamMemory;
  readonly #operation: Operation;
  /** The operations of the earlier commits that share the row, oldest first. */
  readonly #earlier: readonly Operation[];
  /** The token of the upload that this commit has begun. */
  #upload: string | undefined;
  /** The time at which the current attempt began. */
  #began: Moment = LONG_AGO;
  /** Whether the attempt uses state that was cached before it, so that the end may have changed. */
  #isCached = false;
  /** Whether the last attempt's winning row was returned: the next attempt continues from it. */
  #isShown = false;
  /** The number of the last lost row, and how often it was lost in succession. */
  #lostAt = 0;
  #losses = 0;

  constructor(
    log: RecordLog,
    clock: Clock,
    request: RowRequest,
    memory: StreamMemory,
    operation: Operation,
    earlier: readonly Operation[] = NONE,
  ) {
    this.#log = log;
    this.#clock = clock;
    this.#stream = request.threadId;
    this.#request = request;
    this.#memory = memory;
    this.#operation = operation;
    this.#earlier = earlier;
  }

  /** Returns the outcome of the commit, or of the last one of the row. */
  async commit(): Promise<CommitOutcome> {
    let known = this.#memory.chain;
    this.#isCached =
      known !== undefined && isRecent(this.#clock, known.learned) && isAlive(known.end, this.#clock.wall());
    let missing: string | undefined;
    const { contention } = this.#memory;
    let isPauseDue = contention.yields(this.#clock);
    if (isPauseDue && contention.isContended(this.#clock)) this.#isCached = false;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (isPauseDue) await contention.pause(this.#clock, this.#request.signal);
      isPauseDue = false;
      // A writer that lost twice reads the end instead of the winner of each number.
      this.#isCached ||= this.#isShown && attempt === 1;
      this.#isShown = false;
      try {
        // The state that is known when an attempt fails is correct, but may not lead to the end.
        this.#memory.chain = undefined;
        if (!this.#isCached || !known) known = await learn(this.#log, this.#stream, this.#clock, known);
        this.#began = momentOf(this.#clock);
        const outcome = await this.#attempt(known);
        this.#memory.chain = known;
        return outcome;
      } catch (error) {
        if (error instanceof MissingRow) {
          // The same end for the second time: no other commit explains the missing row.
          if (missing === error.end)
            throw new StoreError(
              "CORRUPT",
              `log row ${error.row} is missing, or the row above was not inserted on it`,
            );
          missing = error.end;
          known = undefined;
        } else if (error instanceof Lost) {
          isPauseDue = true;
        } else if (!(error instanceof StartOver)) {
          this.#memory.chain = known;
          if (known && !(error instanceof NotTogether)) known.learned = LONG_AGO;
          throw error;
        }
        this.#isCached = false;
      }
    }
    throw tooManyWriters();
  }

  async #attempt(chain: Chain): Promise<CommitOutcome> {
    const request = this.#request;
    const now = this.#began.wall;
    if (!this.#isCached && !isRecent(this.#clock, chain.learned)) throw new StartOver();
    const current = isAlive(chain.end, now) ? chain.end : undefined;
    if (!current && !chain.knowsRoot) throw new StartOver();
    const remembering = current ?? deletedEnd(chain, now);
    if (request.commits) this.#checkTogether(request.commits, remembering && chain);
    // No row can have a new id: this call has not sent one whose outcome is unknown.
    if (!request.isNewOperation || this.#operation.attempts.length > 0) {
      const recorded = await this.#findRecordedOutcome(chain, remembering);
      if (recorded) return recorded;
    }
    const revision = current ? formatRevision(current.incarnation, current.n) : null;
    if (request.expectedRevision !== undefined && request.expectedRevision !== revision) {
      // Another process may have committed since.
      if (this.#isCached) throw new StartOver();
      return { outcome: "revision-conflict", revision };
    }
    let base = current ?? (await this.#begin(chain, now));
    // An upload ends after 64 commits, so it must not compete with rows of many commits.
    if (this.#earlier.length > 0 && (base.uploads ?? NONE).length > 0) throw new NotTogether();
    const needed = this.#neededUntil(base, now);
    if (needed > never(base.promisedUntil)) base = await this.#raise(chain, base, now, needed);
    const { append, metadata, operationId } = request;
    const texts = metadata ? [...append, metadata] : append;
    const upload = fitsRow(texts, this.#log.capabilities.maxRowBytes, operationId)
      ? undefined
      : await this.#uploadTexts(chain, base, now, texts);
    if (upload) base = upload.base;
    const planned = this.#plan(chain, base, now, upload);
    return await this.#insertCommit(chain, planned instanceof Promise ? await planned : planned);
  }

  /**
   * The outcome of this operation, if it was committed or used before.
   *
   * @param current the end of an existing or deleted thread; undefined for an expired one.
   */
  async #findRecordedOutcome(chain: Chain, current: Head | undefined): Promise<CommitOutcome | undefined> {
    const { operationId, digest, drop } = this.#request;
    let same: { readonly link: CommittedOperation; readonly after: Head } | undefined;
    if (current) {
      for (const link of chain.remembered()) {
        const found = commitIn(link, operationId);
        if (found) same = { link: found, after: current };
      }
    }
    same ??= await this.#findAttempt(chain, current);
    if (!same) return undefined;
    const { link, after } = same;
    if (link.digest !== digest) {
      const isThere = current && !current.closed;
      return {
        outcome: "operation-conflict",
        revision: isThere ? formatRevision(current.incarnation, current.n) : null,
      };
    }
    // The first time may have ended before everything was blank.
    if (drop === "all") await this.#amend(blankDead(after));
    return { outcome: "repeated", revision: formatRevision(link.incarnation, link.n) };
  }

  /** The attempt that succeeded, among those with unknown outcome, and a head that was inserted on it or later. */
  async #findAttempt(
    chain: Chain,
    current: Head | undefined,
  ): Promise<{ readonly link: Attempt; readonly after: Head } | undefined> {
    const { attempts } = this.#operation;
    for (const attempt of [...attempts]) {
      if (attempt.incarnation !== current?.incarnation) {
        const after = await this.#wasMade(chain, attempt);
        if (after) return { link: attempt, after };
        if (attempt.isLate) await this.#blankRow(attempt.number);
        continue;
      }
      if (attempt.number > current.number) continue;
      const isMade = await this.#isMade(chain, current, attempt);
      if (isMade) return { link: attempt, after: current };
      if (attempt.isLate) await this.#blankRow(attempt.number);
      if (isMade === undefined) throw outcomeUnknown();
      this.#forget(attempt);
    }
    return undefined;
  }

  /**
   * Commits that share a row must have the same outcome.
   *
   * @param chain if it has the operations that the thread remembers.
   * @throws NotTogether if one of them was committed before; or if they have different attempts, because a caller that no longer
   *   waited has repeated its call while the row was under way.
   */
  #checkTogether(commits: readonly CommitRequest[], chain: Chain | undefined): void {
    const ids = commits.filter(({ isNewOperation }) => !isNewOperation).map(({ operationId }) => operationId);
    const remembered = chain && ids.length > 0 ? [...chain.remembered()] : NONE;
    if (remembered.some((link) => ids.some((id) => commitIn(link, id)))) throw new NotTogether();
    const tokens = this.#operation.attempts;
    const isTogether = this.#earlier.every(
      ({ attempts }) =>
        attempts.length === tokens.length &&
        attempts.every(({ token }, index) => token === tokens[index]?.token),
    );
    if (!isTogether) throw new NotTogether();
  }

  /** Adds an attempt to each operation before the row is sent, because the outcome may remain unknown. */
  #remember({ number, token, incarnation, n }: Head): Attempt {
    const { digest, commits } = this.#request;
    for (const [index, { attempts }] of this.#earlier.entries()) {
      const own = { n: n - this.#earlier.length + index, digest: commits?.[index]?.digest ?? digest };
      attempts.push({ number, token, incarnation, ...own, isLate: false });
    }
    const own: Attempt = { number, token, incarnation, n, digest, isLate: false };
    this.#operation.attempts.push(own);
    return own;
  }

  /** Removes an attempt that was not made. */
  #forget({ token }: Attempt): void {
    for (const { attempts } of [...this.#earlier, this.#operation]) {
      const index = attempts.findIndex((attempt) => attempt.token === token);
      if (index >= 0) attempts.splice(index, 1);
    }
  }

  #markLate({ token }: Attempt): void {
    for (const { attempts } of [...this.#earlier, this.#operation]) {
      for (const attempt of attempts) attempt.isLate ||= attempt.token === token;
    }
  }

  /**
   * Whether an attempt's row is part of the thread, regardless of the row that has its key now. The row above proves it,
   * by the token of the row that it was inserted on. If the row was freed since, a row that the thread needs proves it
   * too: such a key is never freed. A deleted thread needs none. Undefined: there is no proof either way.
   */
  async #isMade(chain: Chain, current: Head, { number, token }: Attempt): Promise<boolean | undefined> {
    if (number === current.number) return token === current.token;
    const above = chain.links.find((link) => link.number === number + 1);
    if (above) return above.predecessor === token;
    const rows = await this.#log.read(this.#stream, number + 2, 2, true);
    const heads = rows.map(decodeHeadIfSound).filter((head) => head?.incarnation === current.incarnation);
    const next = heads.find((head) => head?.number === number + 1);
    if (next) return next.predecessor === token;
    if (current.closed || !(await isNeeded(this.#log, this.#stream, chain, number))) return undefined;
    return heads.some((head) => head?.number === number && head.token === token);
  }

  /**
   * Whether an attempt's row was part of an ended incarnation: returns a head that was inserted on it or later. Undefined: it was
   * not, or the rows that prove it were deleted, which takes days.
   */
  async #wasMade({ end }: Chain, { number, token, incarnation }: Attempt): Promise<Head | undefined> {
    if (end?.incarnation === incarnation && end.number <= number) {
      const isProof = this.#clock.wall() < never(end.promisedUntil) - SOLID_MARGIN_MS;
      return isProof && end.token === token ? end : undefined;
    }
    const rows = await this.#log.read(this.#stream, number + 2, 1, true);
    const [next] = rows.map(decodeHeadIfSound);
    const isLinked =
      next?.number === number + 1 && next.incarnation === incarnation && next.predecessor === token;
    // An incarnation may be closed after its rows were deleted, on a row that was inserted too late to be part of it.
    const isProof = !next?.closed || next.at < never(next.promisedUntil) - SOLID_MARGIN_MS;
    return isLinked && isProof ? next : undefined;
  }

  /** Prepares the first commit of an incarnation: closes the last incarnation, then inserts a root. */
  async #begin(chain: Chain, now: number): Promise<Head> {
    const { end, root } = chain;
    const isNewest = end !== undefined && (!root || end.number >= (root.head.base ?? 0));
    const open = isNewest ? end : openRootOf(chain);
    const at = Math.max(now, open?.at ?? 0);
    if (open && !open.closed) {
      if (open.n === 0 && now < never(open.promisedUntil) - SOLID_MARGIN_MS) return open;
      // After this time its rows may be deleted, and the next key may be free.
      if (now < never(open.keptUntil) + SOLID_MARGIN_MS) {
        await this.#insertPlain(chain, repeatHead(open, newToken(), { at, closed: 1 }), []);
      }
    }
    if (root) await this.#keepRoot(root.head, root.expiresAt, now);
    const keptUntil = this.#wantedUntil(open ? never(open.keptUntil) : 0, at);
    const highest = Math.max(chain.highest, open ? nextNumber(open) : 0, root?.head.base ?? 0);
    const base = Math.max(Math.floor(now) * ROWS_PER_MS, highest + 2, FIRST_ROW);
    if (!Number.isSafeInteger(base)) throw lastRow(highest);
    const token = newToken();
    const head: Head = {
      number: root ? root.head.number + 1 : 1,
      token,
      root: root ? root.head.number + 1 : 1,
      incarnation: token,
      n: 0,
      at,
      base,
      createdAt: now,
      bounds: [1, 1],
      edge: base,
      bottom: base,
      expiresAt: 0,
      keptUntil: finite(keptUntil),
      promisedUntil: finite(keptUntil),
      // All rows of earlier incarnations, and rows that were inserted too late to be part of one.
      free: highest > 0 ? [[FIRST_ROW, highest + 1]] : [],
    };
    await this.#insertPlain(chain, head, []);
    return head;
  }

  /** A root that may be deleted before the next one arrives is kept, so that the next root's number is certainly new. */
  async #keepRoot({ number, token }: Head, expiresAt: number | undefined, now: number): Promise<void> {
    if (outlivesLateRoots(expiresAt, now)) return;
    const until = now + ROOT_EXPIRY_MS;
    await this.#amend([{ from: number, to: number + 1, extend: { to: until, atLeast: 0 } }]);
    const [row] = await this.#log.read(this.#stream, FIRST_ROW, 1, true);
    const isKept = row && decodeHeadIfSound(row)?.token === token && never(row.expiresAt) >= until;
    if (!isKept) throw new StartOver();
  }

  /** The time until which rows must be kept, so that the promise covers more than this commit. */
  #wantedUntil(before: number, at: number): number {
    const { ttlMs } = this.#request;
    if (ttlMs === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(before, at + ttlMs + Math.max(ttlMs, RAISE_AHEAD_MS) + EXPIRY_MARGIN_MS);
  }

  /** The time until which this commit needs its rows. */
  #neededUntil(base: Head, now: number): number {
    return never(expiryAfter(this.#request, Math.max(now, base.at))) + EXPIRY_MARGIN_MS;
  }

  /**
   * Promises a later expiry, which this commit needs. First a row announces it, so that all later rows are kept as long.
   * Then all needed rows are extended. The commit's row confirms it.
   */
  async #raise(chain: Chain, base: Head, now: number, needed: number): Promise<Head> {
    const at = Math.max(now, base.at);
    let raised = base;
    if (needed > never(base.keptUntil)) {
      const number = nextNumber(base);
      raised = repeatHead(base, newToken(), {
        at,
        keptUntil: finite(this.#wantedUntil(never(base.keptUntil), at)),
        free: mergeRanges([...(base.free ?? []), rowAlone(number)]),
      });
      await this.#insertPlain(chain, raised, []);
    }
    const until = never(raised.keptUntil);
    const from = Math.min(lowestRow(raised), chain.oldestRemembered() ?? raised.number);
    await this.#amend([
      { from, to: nextNumber(raised), extend: { to: nullable(until), atLeast: never(base.promisedUntil) } },
      {
        from: raised.root,
        to: raised.root + 1,
        extend: {
          to: nullable(until + ROOT_EXPIRY_MS),
          atLeast: never(base.promisedUntil) + ROOT_EXPIRY_MS,
        },
      },
    ]);
    this.#startOverUnlessRecent(this.#began);
    return { ...raised, promisedUntil: finite(until) };
  }

  /** Inserts the texts, or the rest of them, as fragments, because they do not fit into the commit's row. */
  async #uploadTexts(
    chain: Chain,
    base: Head,
    now: number,
    texts: readonly string[],
  ): Promise<NonNullable<PlanOptions["upload"]> & { readonly base: Head }> {
    const pieces = layOut(texts, this.#log.capabilities.maxRowBytes);
    let end = base;
    let own: Upload | undefined = base.uploads?.find(([token]) => token === this.#upload);
    const token = own?.[0] ?? newToken();
    this.#upload = token;
    for (let index = own ? rowsOf(own).length : 0; index < pieces.length; index++) {
      const number = nextNumber(end);
      const rows = mergeRanges([...(own?.[2] ?? []), rowAlone(number)]);
      own = [token, own?.[1] ?? end.n, rows];
      if (rows.length > MAX_UPLOAD_RANGES) {
        throw new StoreError(
          "UNAVAILABLE",
          "the thread has too many writers for a commit of this size; try again",
          { retryable: true },
        );
      }
      const others = (end.uploads ?? []).filter((upload) => upload[0] !== token);
      const evicted = others.slice(0, Math.max(0, others.length + 1 - MAX_UPLOADS));
      const head = repeatHead(end, newToken(), {
        at: Math.max(now, end.at),
        uploads: [...others.slice(evicted.length), own],
        free: mergeRanges([...(end.free ?? []), ...evicted.flatMap(([, , ranges]) => ranges)]),
        promisedUntil: base.promisedUntil,
      });
      await this.#insertPlain(chain, head, pieces[index]?.texts ?? []);
      end = head;
      const gone = evicted.flatMap(([, , ranges]) => ranges);
      await this.#amend(gone.map(([from, to]) => ({ from, to, blank: "all" })));
    }
    const rows = own ? rowsOf(own) : [];
    const fragments = pieces.map(({ from, to }, index): Fragment => [rows[index] ?? 0, from, to]);
    return { token, fragments, base: end };
  }

  /** Plans the commit's row. Returns a promise only if rows must be read or amended first. */
  #plan(
    chain: Chain,
    base: Head,
    now: number,
    upload: PlanOptions["upload"],
  ): PlannedRow | Promise<PlannedRow> {
    const at = Math.max(now, base.at);
    const options: PlanOptions = {
      token: newToken(),
      at,
      expiresAt: expiryAfter(this.#request, at),
      keptUntil: base.keptUntil,
      promisedUntil: base.promisedUntil,
      upload,
      collected: undefined,
    };
    const dead = (base.blank?.length ?? 0) + (base.free?.length ?? 0);
    const n = base.n + 1 + this.#earlier.length;
    if (isCollectionDue(base.n, n) || dead > MAX_DEAD_ENTRIES)
      return this.#planAndCollect(chain, base, options);
    try {
      return planRow(chain, base, this.#request, options);
    } catch (error) {
      if (!(error instanceof NotLocated)) throw error;
      return this.#locateAndPlan(chain, base, options, error);
    }
  }

  /** @param missing the message that the last plan needed. */
  async #locateAndPlan(
    chain: Chain,
    base: Head,
    options: PlanOptions,
    missing?: NotLocated,
  ): Promise<PlannedRow> {
    for (let next = missing; ; ) {
      if (next) await readTowards(this.#log, this.#stream, chain, next);
      try {
        return planRow(chain, base, this.#request, options);
      } catch (error) {
        if (!(error instanceof NotLocated)) throw error;
        next = error;
      }
    }
  }

  async #planAndCollect(chain: Chain, base: Head, options: PlanOptions): Promise<PlannedRow> {
    // Locates what the plan needs before the amendments, so that a failure changes nothing.
    await this.#locateAndPlan(chain, base, options);
    const oldest = chain.oldestRemembered() ?? nextNumber(base);
    const { amendments, spent } = planCollection(base, oldest, options.at + FREED_MS);
    await this.#amend(amendments);
    return await this.#locateAndPlan(chain, base, { ...options, collected: { spent } });
  }

  async #insertCommit(chain: Chain, { head, texts }: PlannedRow): Promise<CommitOutcome> {
    const { drop, signal, commits = NONE } = this.#request;
    // A caller that no longer waits may have made a later write, which its commit must not follow.
    throwIfAborted(signal);
    if (commits.some((commit) => commit.signal?.aborted)) throw new NotTogether();
    const sent = momentOf(this.#clock);
    // Reads may have taken days.
    if (!areClose(sent, this.#began)) throw new StartOver();
    const { number, token, incarnation, n } = head;
    const own = this.#remember(head);
    const taken = await insertHead(this.#log, this.#stream, head, texts);
    if (taken !== true) {
      // A client that sent the row twice may have been refused by its own row. Otherwise another writer's row has the
      // key.
      if (taken && decodeHeadIfSound(taken)?.token !== token) this.#forget(own);
      this.#lose(chain, number, taken, sent);
    }
    if (!isRecent(this.#clock, sent)) return await this.#confirm(head, own);
    chain.append(head);
    chain.learned = sent;
    this.#memory.contention.made(this.#clock, this.#clock.monotonic() - sent.monotonic);
    if (drop === "all") await this.#amend(blankDead(head));
    return { outcome: "committed", revision: formatRevision(incarnation, n) };
  }

  /**
   * Determines whether a row that was inserted late is part of the thread: its key may have been freed and deleted. If it is not,
   * it is blanked, and the commit starts over.
   */
  async #confirm(head: Head, attempt: Attempt): Promise<CommitOutcome> {
    const { number, incarnation, n } = head;
    this.#markLate(attempt);
    const chain = await learn(this.#log, this.#stream, this.#clock, undefined);
    const { end } = chain;
    // Later than that, rows below may have been deleted, so a link proves nothing.
    const isProof =
      end?.incarnation === incarnation &&
      end.number >= number &&
      this.#clock.wall() < never(end.promisedUntil) - SOLID_MARGIN_MS;
    const hasEnded = end?.incarnation !== incarnation;
    const isMade = isProof
      ? await this.#isMade(chain, end, attempt)
      : hasEnded && (await this.#wasMade(chain, attempt)) !== undefined;
    if (!isMade) {
      // It is not part of the thread, or none of its texts are needed any more.
      await this.#blankRow(number);
      if (isMade === undefined) throw outcomeUnknown();
      this.#forget(attempt);
      throw new StartOver();
    }
    if (this.#request.drop === "all" && end) await this.#amend(blankDead(end));
    return { outcome: "committed", revision: formatRevision(incarnation, n) };
  }

  /** Inserts a row that commits nothing. @throws StartOver if another row was first, or the insert was late. */
  async #insertPlain(chain: Chain, head: Head, texts: readonly string[]): Promise<void> {
    this.#startOverUnlessRecent(this.#began);
    const sent = momentOf(this.#clock);
    const taken = await insertHead(this.#log, this.#stream, head, texts);
    if (taken !== true) this.#lose(chain, head.number, taken, sent);
    if (!isRecent(this.#clock, sent)) {
      if (texts.length > 0) {
        await this.#blankRow(head.number);
        this.#upload = undefined;
      }
      throw new StartOver();
    }
    if (head.number < FIRST_ROW) chain.root = { head, expiresAt: expiryOf(head) };
    else chain.append(head);
  }

  /**
   * Another row was first. If the backend returned it, the next attempt may use it.
   *
   * @throws Lost; StoreError `CORRUPT` for a row that repeatedly blocks the insert and is never found as the end.
   */
  #lose(chain: Chain, number: number, taken: false | LogRow, sent: Moment): never {
    this.#losses = number === this.#lostAt ? this.#losses + 1 : 1;
    this.#lostAt = number;
    if (this.#losses >= MAX_LOSSES)
      throw new StoreError("CORRUPT", `log row ${number} exists, but is not part of the thread`);
    this.#memory.contention.lost(this.#clock, this.#clock.monotonic() - sent.monotonic);
    // A row that was returned days ago is no longer the end.
    this.#isShown = taken !== false && isRecent(this.#clock, sent) && linkRow(chain, taken);
    if (this.#isShown) chain.learned = sent;
    throw new Lost();
  }

  async #amend(amendments: readonly Amendment[]): Promise<void> {
    if (amendments.length > 0) await this.#log.amend(this.#stream, amendments);
  }

  async #blankRow(number: number): Promise<void> {
    await this.#amend([{ from: number, to: number + 1, blank: "all" }]);
  }

  #startOverUnlessRecent(since: Moment): void {
    if (!isRecent(this.#clock, since)) throw new StartOver();
  }
}

function outcomeUnknown(): StoreError {
  return new StoreError(
    "UNAVAILABLE",
    "the commit's outcome is unknown: its row was found, but no longer the row after it; read the thread to see whether it was made",
  );
}

function rowsOf([, , ranges]: Upload): number[] {
  return ranges.flatMap(([from, to]) => Array.from({ length: to - from }, (_, index) => from + index));
}

/** The row that closed a thread before its expiry: the operations of a deleted thread are remembered. */
function deletedEnd({ end }: Chain, now: number): Head | undefined {
  return end?.closed && end.n > 0 && now < never(end.expiresAt) ? end : undefined;
}

/** The newest root, if the next row can be inserted on it: it was not freed, and no row was inserted on it. */
function openRootOf({ root, highest }: Chain): Head | undefined {
  if (!root || highest >= (root.head.base ?? 0)) return undefined;
  return keepsPromise({ ...root.head, expiresAt: root.expiresAt }, root.head) ? root.head : undefined;
}

/** Inserts the row of a head. Returns the log's promise directly: another promise would cost each commit a microtask. */
export function insertHead(
  log: RecordLog,
  stream: string,
  head: Head,
  texts: readonly string[],
): Promise<boolean | LogRow> {
  const { number } = head;
  if (!Number.isSafeInteger(number)) throw lastRow(number - 1);
  return log.insert(stream, { number, head: encodeHead(head), texts, expiresAt: expiryOf(head) });
}

function lastRow(number: number): StoreError {
  return new StoreError("CORRUPT", `log row ${number} is damaged: no row can follow it`);
}

function nullable(time: number): number | null {
  return finite(time) ?? null;
}
