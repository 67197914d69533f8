import { StoreError } from "@scrollback/store-core";
import type {
  CommitOutcome,
  CommitRequest,
  DeleteOutcome,
  DeleteRequest,
} from "@scrollback/store-core/driver";
import { type Clock, newIncarnation } from "@scrollback/store-core/internal";
import {
  type DocumentDatabase,
  type LoadedHead,
  loadedHead,
  type Page,
  type Swap,
  tokenOf,
} from "../database.ts";
import { deadHead } from "../rules/deletion.ts";
import { Draft, listedIds, type Plan } from "../rules/draft.ts";
import type { Limits } from "../rules/limits.ts";
import { Operations } from "../rules/operations.ts";
import { PagesNeeded } from "../rules/pages.ts";
import { isAlive } from "../rules/times.ts";
import { loadPages } from "./load-pages.ts";
import type { Orphans, ThreadMemory } from "./thread-memory.ts";

/** The number of heads on which a commit is planned before it fails. */
const MAX_ATTEMPTS = 100;
/** The number of received operations above which those are forgotten that no head remembers. */
const MAX_RECEIVED = 256;
/** The number of characters of a seed: 72 random bits. */
const SEED_LENGTH = 12;

/** The error for a head that cannot be read. */
export function damagedHead(): StoreError {
  return new StoreError("CORRUPT", "the thread's document is damaged: it is not a head; delete the thread");
}

/** The writes of one process to one thread. */
export class ThreadWriter {
  readonly #database: DocumentDatabase;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #isRemote: boolean;
  readonly #threadId: string;
  readonly #memory: ThreadMemory;
  /** The pages that were read. They never change. */
  readonly #loaded = new Map<string, Page | null>();

  constructor(
    database: DocumentDatabase,
    {
      clock,
      limits,
      isRemote,
    }: { readonly clock: Clock; readonly limits: Limits; readonly isRemote: boolean },
    threadId: string,
    memory: ThreadMemory,
  ) {
    this.#database = database;
    this.#clock = clock;
    this.#limits = limits;
    this.#isRemote = isRemote;
    this.#threadId = threadId;
    this.#memory = memory;
  }

  /**
   * Makes commits in one swap, in order. Each has its own outcome. Undefined: its caller waits no more, and it is on no head that was
   * swapped; an earlier swap may still be made.
   */
  async commit(requests: readonly CommitRequest[]): Promise<(CommitOutcome | undefined)[]> {
    const { contention } = this.#memory;
    const clock = this.#clock;
    const signal = requests.length === 1 ? requests[0]?.signal : undefined;
    let isPauseDue = contention.yields(clock);
    // After a pause another process has probably committed.
    if (isPauseDue && contention.isContended(clock)) this.#memory.known = undefined;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (isPauseDue) await contention.pause(clock, signal);
      isPauseDue = false;
      if (requests.every(isAborted)) return requests.map(() => undefined);
      const isFresh = this.#memory.known === undefined;
      const known = await this.#head(attempt > 0);
      const planned = await this.#plan(requests, known, isFresh);
      if (!planned) continue;
      const { outcomes, plan } = planned;
      if (plan) {
        if (!(await this.#prepare(plan, known))) continue;
        this.#assertInTime(requests);
        if (requests.some((request, index) => outcomes[index] && isAborted(request))) continue;
        const began = clock.monotonic();
        if (!(await this.#swap({ expected: known, head: plan.head, pushed: plan.pushed }))) {
          contention.lost(clock, clock.monotonic() - began);
          isPauseDue = true;
          continue;
        }
        contention.made(clock, clock.monotonic() - began);
        const made = loadedHead(plan.head);
        this.#memory.search = { token: made.token, search: plan.search };
        await this.#removeUnneeded(made);
      }
      this.#receive(requests);
      return outcomes;
    }
    throw tooManyWriters();
  }

  async delete(request: DeleteRequest): Promise<DeleteOutcome> {
    const { operationId, expectedRevision } = request;
    const operation = Operations.of({ operationId, digest: "delete" });
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      this.#memory.known = undefined;
      const known = await this.#head(true, expectedRevision === undefined);
      const now = this.#clock.wall();
      const head = known?.head ?? null;
      const revision = isAlive(head, now) ? tokenOf(head) : null;
      const isRemembering = head !== null && (revision !== null || head.isDead === true);
      // What the first attempt left was removed when the head was read.
      if (known && isRemembering && Operations.find(head, operation, now)) return { outcome: "repeated" };
      if (expectedRevision !== undefined && expectedRevision !== revision)
        return { outcome: "revision-conflict", revision };
      // Also those that no head lists, of writers that died.
      const ids = await this.#database.keys(this.#threadId);
      if ((!known || head?.isDead) && ids.length === 0) return { outcome: "deleted" };
      const dead = deadHead(head, { operation, now, incarnation: newIncarnation(), ids });
      this.#assertInTime([request]);
      request.signal?.throwIfAborted();
      if (!(await this.#swap({ expected: known, head: dead }))) continue;
      await this.#removeUnneeded(loadedHead(dead));
      return { outcome: "deleted" };
    }
    throw tooManyWriters();
  }

  /** The head to plan on. What an earlier one no longer needs is removed. */
  async #head(primary: boolean, acceptsDamaged = false): Promise<LoadedHead | null> {
    const memory = this.#memory;
    let { known } = memory;
    if (known === undefined) {
      // A head that lags, or that was read before they were written, must not decide about pages.
      const isPrimary = primary || memory.orphans.length > 0;
      known = await this.#database.load(this.#threadId, { primary: isPrimary });
      // A damaged one may be replaced at any time.
      memory.known = known && !known.head ? undefined : known;
    }
    await this.#removeUnneeded(known);
    if (known && !known.head && !acceptsDamaged) throw damagedHead();
    return known;
  }

  /** Undefined: the plan must be made on another head. */
  async #plan(
    requests: readonly CommitRequest[],
    known: LoadedHead | null,
    isFresh: boolean,
  ): Promise<{ outcomes: (CommitOutcome | undefined)[]; plan: Plan | undefined } | undefined> {
    const memory = this.#memory;
    const search = memory.search?.token === known?.token ? memory.search?.search : undefined;
    for (;;) {
      const draft = new Draft(known?.head ?? null, {
        now: this.#clock.wall(),
        limits: this.#limits,
        loaded: this.#loaded,
        seed: newIncarnation().slice(0, SEED_LENGTH),
        received: memory.received,
        search,
      });
      try {
        // After a lost swap nothing is planned anew for a caller that has been told the end of its call.
        const outcomes = requests.map((request) => (isAborted(request) ? undefined : draft.commit(request)));
        const isConflict = outcomes.some((one) => one?.outcome === "revision-conflict");
        if (!isConflict || isFresh) return { outcomes, plan: draft.finish() };
        memory.known = undefined;
        return undefined;
      } catch (error) {
        if (!(error instanceof PagesNeeded) || !known) throw error;
        const moved = await loadPages(this.#database, this.#threadId, known, error.ids, this.#loaded);
        if (moved === undefined) continue;
        memory.known = undefined;
        return undefined;
      }
    }
  }

  /** Writes and raises pages. Returns whether the plan still holds: pages of a thread that has expired may be gone. */
  async #prepare({ pages, raised, head }: Plan, known: LoadedHead | null): Promise<boolean> {
    const memory = this.#memory;
    if (pages.length === 0 && raised.length === 0) return true;
    if (pages.length > 0) {
      const ids = pages.map(({ id }) => id);
      const orphans: Orphans = { token: known?.token ?? null, ids, isWritten: false };
      memory.orphans = [...memory.orphans, orphans];
      try {
        await this.#database.write(this.#threadId, pages);
      } finally {
        orphans.isWritten = true;
      }
    }
    if (raised.length > 0) await this.#database.raise(this.#threadId, raised, head.until);
    const expiresAt = known?.head?.isDead ? undefined : known?.head?.expiresAt;
    const isSame = expiresAt === undefined || head.incarnation !== known?.head?.incarnation;
    return isSame || this.#clock.wall() < expiresAt;
  }

  /** @throws StoreError `UNAVAILABLE` if a thread that expired or was deleted may have forgotten an earlier attempt. */
  #assertInTime(requests: readonly Pick<DeleteRequest, "sendBefore">[]): void {
    const now = this.#clock.monotonic();
    if (requests.every(({ sendBefore = Number.POSITIVE_INFINITY }) => now < sendBefore)) return;
    const message =
      "the outcome is unknown; repeat the call with the same operationId, or read the thread first";
    throw new StoreError("UNAVAILABLE", message, { retryable: true });
  }

  async #swap(swap: Omit<Swap, "threadId">): Promise<boolean> {
    // Unknown, until there is a reply.
    this.#memory.known = undefined;
    if (!(await this.#database.swap({ threadId: this.#threadId, ...swap }))) return false;
    this.#memory.known = loadedHead(swap.head);
    return true;
  }

  /**
   * Removes what the present head says is leaving, and what this process wrote for swaps on other heads, which the thread has certainly left,
   * unless the present head lists it. If this fails, the next call removes it.
   */
  async #removeUnneeded(present: LoadedHead | null): Promise<void> {
    const memory = this.#memory;
    const head = present?.head;
    const token = present?.token ?? null;
    const orphans = memory.orphans.filter((one) => one.token !== token);
    const listed = new Set(orphans.length > 0 && head ? listedIds(head) : []);
    const unneeded = orphans.flatMap(({ ids }) => ids.filter((id) => !listed.has(id)));
    const leaving = head && memory.cleaned !== present?.token ? head.leaving : [];
    const ids = [...leaving, ...unneeded];
    if (ids.length > 0) await this.#database.remove(this.#threadId, ids);
    if (orphans.length > 0)
      memory.orphans = memory.orphans.filter((one) => !one.isWritten || !orphans.includes(one));
    if (head) memory.cleaned = present?.token;
  }

  /** The outcomes are known, so these operations are not sent again. */
  #receive(requests: readonly CommitRequest[]): void {
    if (this.#isRemote) return;
    const memory = this.#memory;
    for (const request of requests) if (!isAborted(request)) memory.received.add(Operations.of(request).id);
    const operations = memory.known?.head?.operations;
    if (memory.received.size > MAX_RECEIVED && operations)
      memory.received = Operations.remembered(operations, memory.received);
  }
}

const isAborted = ({ signal }: CommitRequest) => signal?.aborted === true;

export function tooManyWriters(): StoreError {
  const message = `too many writers: another one was first ${MAX_ATTEMPTS} times; try again`;
  return new StoreError("UNAVAILABLE", message, { retryable: true });
}
