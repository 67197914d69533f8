// Exceeds 300 lines because the commits of a thread are one loop: what is known, planned, written and settled.
import { randomBytes } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import { type CommitOutcome, type CommitRequest, SequenceBounds } from "@scrollback/store-core/driver";
import { Contention, pause, RecentMap } from "@scrollback/store-core/internal";
import { Garbage } from "./garbage.ts";
import {
  type Head,
  isExpired,
  itemOfHead,
  MAX_KINDS,
  revisionOf,
  type StoredHead,
  storedHeadOf,
} from "./head.ts";
import { ALL, HEAD, itemOfRow, itemsOfBatch } from "./item.ts";
import { type Draft, draftOf, fits, plan } from "./plan.ts";
import { Messages } from "./read.ts";
import { type KnownMessage, NotRead } from "./removals.ts";
import { bury, empty } from "./remove.ts";
import { settle, sortKeyOf, touchesOf, underHead } from "./settle.ts";
import type { Table } from "./table.ts";
import type { Action } from "./transaction.ts";

/** A commit that waits, and how it ends. */
interface Job {
  readonly request: CommitRequest;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: unknown) => void;
}

/** What this process knows of a thread. It may be older than what is stored: then its commit is refused. */
interface Known {
  /** Undefined: there is no head. */
  readonly stored: StoredHead | undefined;
  /** Whether it was read for the commit that is planned. */
  readonly isFresh: boolean;
  /** Whether nothing of earlier commits is left to be done. */
  readonly isSettled: boolean;
  readonly messages: Map<number, KnownMessage>;
}

/** What a process remembers of a thread between commits. */
interface Memory {
  /** Undefined: its head must be read. */
  known: Known | undefined;
  readonly contention: Contention;
}

const THREADS = 1_000;
/** A commit fails after it lost so often to other writers. */
const ATTEMPTS = 100;
/** Pauses before a deletion of others is seen to its end grow up to this attempt. */
const LONGEST_PAUSE = 3;

/**
 * The commits of a process. Those of one thread wait for each other; those that wait share a transaction. The newest heads are cached,
 * so that a commit is one request.
 */
export class Commits {
  readonly #table: Table;
  readonly #now: () => number;
  readonly #jobs = new Map<string, Job[]>();
  readonly #memories = new RecentMap<Memory>(THREADS);
  readonly #garbage: Garbage;

  constructor(table: Table, now: () => number) {
    this.#table = table;
    this.#now = now;
    this.#garbage = new Garbage(table, now);
  }

  commit(request: CommitRequest): Promise<CommitOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>();
    const job = { request, resolve, reject };
    const waiting = this.#jobs.get(request.threadId);
    if (waiting) waiting.push(job);
    else {
      this.#jobs.set(request.threadId, [job]);
      void this.#work(request.threadId);
    }
    return promise;
  }

  /** A head that was read, or that a deletion has left. */
  learn(threadId: string, stored: StoredHead, isSettled: boolean): void {
    const memory = this.#memoryOf(threadId);
    if (isSettled || !memory.known) memory.known = known(stored, { isSettled });
  }

  async #work(threadId: string): Promise<void> {
    const jobs = this.#jobs.get(threadId) ?? [];
    while (jobs.length > 0) {
      const group = { size: 1 };
      try {
        const requests = jobs.map(({ request }) => request);
        for (const outcome of await this.#commitAll(threadId, requests, group)) end(jobs.shift(), outcome);
      } catch (error) {
        // The next attempt looks at what is stored.
        this.#memoryOf(threadId).known = undefined;
        for (const job of jobs.splice(0, group.size)) job.reject(error);
      }
    }
    this.#jobs.delete(threadId);
  }

  /**
   * Commits the first requests: as many as share a transaction, at least one. Returns their outcomes; `group` tells their number. Undefined:
   * the caller waits no more.
   */
  async #commitAll(
    threadId: string,
    requests: readonly CommitRequest[],
    group: { size: number },
  ): Promise<(CommitOutcome | undefined)[]> {
    const { clock } = this.#table;
    const { contention, known: last } = this.#memoryOf(threadId);
    let from = last;
    let isPauseDue = contention.yields(clock);
    for (let attempt = 0, reads = 0; attempt < ATTEMPTS; ) {
      // After a pause another writer has probably committed. Without one, the reply to a lost attempt has the newest head.
      if (isPauseDue && (await contention.pause(clock)) && contention.isContended(clock)) from = undefined;
      isPauseDue = false;
      if (requests.every(isAborted)) return requests.map(() => undefined);
      from ??= await this.#load(threadId);
      if (from.isFresh) await this.#garbage.remove(threadId, from.stored?.head, from.stored?.head.version);
      const ready = await this.#prepare(threadId, from);
      if (!ready) {
        from = undefined;
        await pause(Math.min(attempt++, LONGEST_PAUSE), undefined, clock);
        continue;
      }
      from = ready;
      const { stored, isFresh, messages } = from;
      const now = this.#now();
      try {
        const { draft, outcomes } = planAll(stored?.head, requests, now, messages);
        const isKnown = outcomes.some((one) => one && one.outcome !== "committed");
        if (isKnown && !isFresh) {
          from = undefined;
          continue;
        }
        if (draft.commits === 0) return outcomes;
        group.size = outcomes.length;
        const isWanted = () => !requests.some((request, index) => outcomes[index] && isAborted(request));
        const began = clock.monotonic();
        const done = await this.#write(threadId, from, draft, now, isWanted);
        const ms = clock.monotonic() - began;
        if (done === "written") {
          contention.made(clock, ms);
          return outcomes;
        }
        contention.lost(clock, ms);
        isPauseDue = true;
        attempt++;
        from = done;
      } catch (error) {
        if (!(error instanceof NotRead) || !stored) throw error;
        await this.#survey(
          threadId,
          stored.head,
          error.sequence,
          MAX_KINDS << Math.min(reads++, 10),
          messages,
        );
      }
    }
    throw new StoreError("UNAVAILABLE", "dynamodb: other writers were first each time; the thread is busy", {
      retryable: true,
    });
  }

  /** The head, as it must be before a commit: nothing is left to be done, and it has not expired. Undefined: it must be read again. */
  async #prepare(threadId: string, from: Known): Promise<Known | undefined> {
    const { stored } = from;
    if (!stored) return from;
    let dead = stored.head.isDead ? stored : undefined;
    if (!dead && isExpired(stored.head, this.#now())) {
      const buried = await bury(this.#table, threadId, stored.item, undefined, this.#now());
      if (!buried || buried === "nothing") return undefined;
      dead = buried;
    } else if (from.isSettled) return from;
    const settled = dead
      ? await empty(this.#table, threadId, dead)
      : await settle(this.#table, threadId, stored);
    return settled && { ...from, isFresh: from.isFresh || dead !== stored, stored: settled, isSettled: true };
  }

  async #load(threadId: string): Promise<Known> {
    for (;;) {
      const last = { thread: threadId, ...ALL, direction: "down", limit: 1 } as const;
      const item = (await this.#table.get(threadId, HEAD)) ?? (await this.#table.query(last))[0];
      if (!item) return known(undefined, { isFresh: true, isSettled: true });
      if (sortKeyOf(item) === HEAD) return known(storedHeadOf(item), { isFresh: true });
      // The thread has expired, and DynamoDB has deleted the head first: the next one gets other numbers.
      const dead = await bury(this.#table, threadId, undefined, undefined, this.#now());
      if (dead && dead !== "nothing") return known(dead, { isFresh: true });
    }
  }

  /** Writes a draft that was planned at the time `now`. Returns what is known if it was refused: undefined if the head must be read again. */
  async #write(
    threadId: string,
    from: Known,
    draft: Draft,
    now: number,
    isWanted: () => boolean,
  ): Promise<"written" | Known | undefined> {
    const { head, batch } = draft;
    if (!head) return undefined;
    const base = from.stored?.head;
    let over = from.stored;
    const puts = [...(batch?.messages ?? [])].flatMap(([index, message]) =>
      itemsOfBatch(threadId, batch?.id ?? "", index, message, head.until),
    );
    let version: number | undefined;
    let at = now;
    let isMade = false;
    try {
      await this.#table.write(threadId, puts, []);
      const actions: Action[] = [...draft.rows.values()].map((row) => ({
        put: itemOfRow(threadId, row, head.until),
      }));
      for (const remove of draft.gone) if (!draft.rows.has(remove)) actions.push({ remove });
      let isLowering = false;
      if (over && base && !base.isDead && base.until !== head.until) {
        const own = new Set([...draft.rows.keys(), ...draft.gone]);
        const touches = (await touchesOf(this.#table, threadId, base, head.until)).filter(
          ({ touch }) => !own.has(touch),
        );
        if (fits(draft, touches.length)) actions.push(...touches);
        else if (base.until === undefined) isLowering = true;
        else {
          // Whoever finds items without an expiry under the head sets it again.
          const lowered = { ...over, head: { ...over.head, isLowering: head.until === undefined } };
          over = await underHead(this.#table, threadId, lowered, touches);
        }
      }
      // Another writer was first; or the thread has expired meanwhile.
      if ((base && !over) || (base && !base.isDead && isExpired(base, this.#now()))) return undefined;
      if (!isWanted()) return from;
      version = over?.head.version ?? 0;
      at = this.#now();
      const next = itemOfHead(threadId, { ...head, version: version + 1, isLowering });
      const refusal = await this.#table.swap(over?.item, next.item, actions);
      if (refusal) return refusal.found ? known(storedHeadOf(refusal.found), { isFresh: true }) : undefined;
      isMade = true;
      await this.#garbage.remove(threadId, base, next.head.version);
      await this.#finish(threadId, from, draft, next);
      return "written";
    } finally {
      // Also after a refusal, as an earlier attempt of the same request may have been executed.
      if (batch && !isMade)
        this.#garbage.add(threadId, {
          id: batch.id,
          keys: puts.map(sortKeyOf),
          version,
          operation: batch.operation,
          at,
        });
    }
  }

  /** Settles the head of a commit that was made, and caches it. */
  async #finish(
    threadId: string,
    { stored, messages }: Known,
    draft: Draft,
    next: StoredHead,
  ): Promise<void> {
    const settled = await settle(this.#table, threadId, next);
    if (!settled) {
      this.#memoryOf(threadId).known = undefined;
      return;
    }
    const { bounds, dropped, incarnation } = settled.head;
    const isCut = [...draft.rows.values()].some((row) => "batch" in row && row.batch !== draft.batch?.id);
    const isSame = stored?.head.incarnation === incarnation && stored.head.dropped.n === dropped.n && !isCut;
    const kept = [...messages].filter(([sequence]) => isSame && SequenceBounds.isWithin(bounds, sequence));
    this.#memoryOf(threadId).known = { ...known(settled, { isSettled: true }), messages: new Map(kept) };
  }

  /** Reads the kinds of messages around one that a plan needs, and where they are. */
  async #survey(
    threadId: string,
    head: Head,
    sequence: number,
    size: number,
    messages: Map<number, KnownMessage>,
  ): Promise<void> {
    const isPinned = SequenceBounds.pinnedOf(head.bounds).includes(sequence);
    const first = isPinned ? sequence : Math.max(head.bounds.first, sequence - size / 2);
    const next = isPinned ? sequence + 1 : Math.min(head.bounds.next, first + size);
    const found = new Messages(this.#table, threadId);
    const range = { ...SequenceBounds.EMPTY, first, next };
    // What is missing may be a part of a transaction that the first query did not see.
    for (let time = 0; time < 2 && found.missing(head, range).length > 0; time++) {
      if (time > 0) await pause(0, undefined, this.#table.clock);
      await found.fetch(head, first, next);
    }
    for (let at = first; at < next; at++) {
      const { message, page } = found.at(at, head) ?? {};
      messages.set(at, { kind: message?.kind ?? "o", page });
    }
  }

  #memoryOf(threadId: string): Memory {
    const found = this.#memories.get(threadId);
    if (found) return found;
    const memory = { known: undefined, contention: new Contention() };
    this.#memories.set(threadId, memory);
    return memory;
  }
}

const known = (
  stored: StoredHead | undefined,
  { isFresh = false, isSettled = false }: { isFresh?: boolean; isSettled?: boolean },
): Known => ({
  stored,
  isFresh,
  isSettled: isSettled || (stored !== undefined && !stored.head.isDead && isDone(stored.head)),
  messages: new Map(),
});

const isDone = ({ leaving, isLowering }: Head) => leaving.length === 0 && !isLowering;

const isAborted = ({ signal }: CommitRequest) => signal?.aborted === true;

function end(job: Job | undefined, outcome: CommitOutcome | undefined): void {
  if (outcome) job?.resolve(outcome);
  else job?.reject(job.request.signal?.reason);
}

/** Plans the first requests, as many as fit into one transaction. */
function planAll(
  head: Head | undefined,
  requests: readonly CommitRequest[],
  now: number,
  messages: ReadonlyMap<number, KnownMessage>,
): { draft: Draft; outcomes: (CommitOutcome | undefined)[] } {
  let draft = draftOf(head);
  const outcomes: (CommitOutcome | undefined)[] = [];
  for (const request of requests) {
    // After a refusal nothing is planned anew for a caller that has been told the end of its call.
    if (isAborted(request)) {
      outcomes.push(undefined);
      continue;
    }
    let next: Draft | CommitOutcome;
    try {
      next = plan(draft, request, now, messages, randomBytes(9).toString("base64url"));
    } catch (error) {
      if (outcomes.length > 0) break;
      throw error;
    }
    if ("outcome" in next) {
      outcomes.push(next);
      continue;
    }
    const isFirst = draft.commits === 0;
    // A page, or what is removed later, is of a transaction with one commit.
    if (!isFirst && (next.batch || (next.head && next.head.leaving.length > 0) || !fits(next))) break;
    draft = next;
    outcomes.push({ outcome: "committed", revision: revisionOf(next.head) ?? "" });
    if (next.batch || (next.head && next.head.leaving.length > 0)) break;
  }
  return { draft, outcomes };
}
