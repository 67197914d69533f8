// Exceeds 300 lines because each rule reads and changes the same state of one thread.
import { isDeepStrictEqual } from "node:util";
import type { Revision } from "@scrollback/store-core";
import { formatRevision, REMEMBERED_OPERATIONS, type SequenceBounds } from "@scrollback/store-core/driver";
import type { Head } from "../rows/format.ts";
import type { RowListener } from "./backend.ts";
import { SimulationFailure } from "./failure.ts";
import type { Counters } from "./faults.ts";
import { Expiries, FreedKeys } from "./further-checks.ts";
import { DAY, HOUR, MINUTE } from "./network.ts";
import { keyOf, type Operation, type Text } from "./operation.ts";
import { apply, placedIn, rowsOf, type ThreadState } from "./reference.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Deletion, RowOrigin, SimulatedCall, StoredRow } from "./simulated-call.ts";
import { StoredRows } from "./stored-rows.ts";

/** The maximum error of a clock. */
export const LARGEST_SKEW = 12 * HOUR;
/** The maximum time between planning a row and sending its insert. */
const PLANNING_MS = 6 * MINUTE;

/** The thread after one step. */
export interface HistoryEntry {
  readonly step: number;
  /** Undefined: the thread does not exist. */
  readonly state: ThreadState | undefined;
  /** The time at which the thread expires, by the reader's clock. Undefined: never. */
  readonly expiresAt: number | undefined;
}

export interface ThreadModelOptions {
  readonly threadId: string;
  readonly scheduler: Scheduler;
  readonly counters: Counters;
  readonly operations: ReadonlyMap<string, Operation>;
  /** The first step of the history with which a call can still be compared. */
  readonly oldestNeeded: () => number;
}

/**
 * The required state of a thread, updated with each row. A commit takes effect when its row is inserted on the thread's end.
 * Then the model computes the state that the protocol requires, and compares it with the row's head. A row that is not inserted
 * on the end must have no effect.
 */
export class ThreadModel implements RowListener {
  readonly threadId: string;
  readonly rows = new StoredRows();
  history: HistoryEntry[] = [{ step: 0, state: undefined, expiresAt: undefined }];
  /** The newest row of the thread, on which the next row must be inserted. */
  end: StoredRow | undefined;
  /** Whether the thread was ever deleted. */
  hasDeletions = false;
  /** Called for every commit, with the states after and before it. */
  onCommit: (
    row: StoredRow,
    state: ThreadState,
    before: ThreadState | undefined,
    operation: Operation,
  ) => void = () => undefined;
  /** Called for every row of an existing thread, with the head on which it was inserted. */
  onRow: (head: Head, state: ThreadState, base: Head | undefined) => void = () => undefined;
  readonly #options: ThreadModelOptions;
  readonly #roots = new Map<string, Head>();
  /** The tokens of the roots that have a first row. */
  readonly #begun = new Set<string>();
  readonly #revisions = new Set<Revision>();
  /** The newest commit of each id, with any change. */
  readonly #newest = new Map<
    string,
    { incarnation: string; n: number; caller: string | undefined; at: number }
  >();
  /** By id: the changes that took place under it. */
  readonly #digests = new Map<string, Set<string>>();
  /** The deleted incarnations, and the times at which they would have expired. */
  readonly #deleted = new Map<string, number>();
  /** The incarnation that was deleted last, until the next one begins. */
  #lastDeleted: { readonly incarnation: string; readonly n: number; readonly at: number } | undefined;
  readonly #expiries = new Expiries();
  readonly #freed = new FreedKeys();
  #step = 0;
  /** While a row is applied: the state after those of its commits that are applied, and the number of their texts. */
  #row: { readonly state: ThreadState; readonly texts: number } | undefined;
  /** The state whose texts are counted as used. */
  #counted: ThreadState | undefined;

  constructor(options: ThreadModelOptions) {
    this.threadId = options.threadId;
    this.#options = options;
  }

  get step(): number {
    return this.#step;
  }

  get current(): HistoryEntry {
    return this.history.at(-1) as HistoryEntry;
  }

  get now(): number {
    return this.#options.scheduler.now;
  }

  get state(): ThreadState | undefined {
    return this.current.state;
  }

  /** The state of the thread, unless it has expired for every client. */
  get possibleState(): ThreadState | undefined {
    const { state, expiresAt = Number.POSITIVE_INFINITY } = this.current;
    return this.now - LARGEST_SKEW < expiresAt ? state : undefined;
  }

  /** The state of the thread, if it has expired for no client. */
  get livingState(): ThreadState | undefined {
    const { state, expiresAt = Number.POSITIVE_INFINITY } = this.current;
    return this.now + LARGEST_SKEW < expiresAt ? state : undefined;
  }

  /** The head of the thread's newest row, if a driver wrote it. */
  get endHead(): Head | undefined {
    return this.end?.head;
  }

  /** The number of the first row after a head's root. */
  baseOf({ root }: Head): number | undefined {
    return this.rows.get(root)?.head?.base;
  }

  /** Whether another change took place under the id of an operation. */
  wasReused({ id, digest }: Operation): boolean {
    return [...(this.#digests.get(id) ?? [])].some((other) => other !== digest);
  }

  /** Whether the thread has had a revision. */
  wasAt(revision: Revision): boolean {
    return this.#revisions.has(revision);
  }

  onInsert(row: StoredRow): void {
    const { head } = row;
    const { counters, scheduler } = this.#options;
    if (!head) return;
    const end = this.endHead;
    const isNext = end !== undefined && head.predecessor === end.token && row.number === end.number + 1;
    const root = this.#roots.get(head.predecessor ?? "");
    row.isLinked = head.base !== undefined || isNext || (root !== undefined && this.#isFirstOf(root, row));
    this.#freed.check(row, this.now);
    if (head.base !== undefined) {
      this.#roots.set(head.token, head);
      counters.count("roots");
    } else if (!row.isLinked) {
      const { call, earlier = [], isEcho } = row.origin ?? {};
      if (!isEcho) for (const one of [...earlier, call]) one?.lateRows.push(row);
      scheduler.note(() => `row ${row.number} is not part of the thread`);
      counters.count(head.operationId ? "late commits" : "late rows");
    } else {
      if (!isNext) this.#begun.add(head.predecessor ?? "");
      this.#link(row, head, isNext ? end : undefined);
    }
  }

  /** @param end the row on which it was inserted; undefined for the first row of an incarnation. */
  #link(row: StoredRow, head: Head, end: Head | undefined): void {
    if (head.closed) {
      this.#close(row, head, end);
    } else if (head.operationId !== undefined) {
      this.#commit(row, head, end);
    } else {
      const n = end?.n ?? 0;
      if (head.n !== n) this.#fail("count", `row ${row.number} counts ${head.n} commits, there are ${n}`);
      this.#options.counters.count(row.row.texts.length > 0 ? "fragments" : "raises");
      this.#move(row, end && this.state, head);
    }
  }

  onDelete(row: StoredRow): void {
    this.#freed.onDelete(row);
    const state = this.livingState;
    if (state && rowsOf(state).has(row.number))
      this.#fail("deletion", `row ${row.number} was deleted, which an existing thread needs`);
  }

  #isFirstOf(root: Head, row: StoredRow): boolean {
    return (
      row.number === root.base &&
      row.number === this.rows.highest &&
      !this.#begun.has(root.token) &&
      this.#isOver(row)
    );
  }

  /** Whether the thread may have been over for the writer of a row. */
  #isOver({ origin }: StoredRow): boolean {
    const end = this.endHead;
    if (!end || end.closed || end.n === 0) return true;
    if (end.expiresAt === undefined) return false;
    return (
      (origin?.latestWall ?? 0) >= end.expiresAt ||
      this.#options.scheduler.now - LARGEST_SKEW >= end.expiresAt
    );
  }

  /** @param end as of {@link ThreadModel.#link}. */
  #close(row: StoredRow, head: Head, end: Head | undefined): void {
    const isDead =
      !end || end.n === 0 || (row.origin?.latestWall ?? 0) >= (end.expiresAt ?? Number.POSITIVE_INFINITY);
    const deletion = row.origin?.call?.deletion;
    if (!isDead && !deletion) this.#fail("block", `row ${row.number} closed a thread that had not ended`);
    // An incarnation without a commit has begun afterwards, and does not remember it.
    if (!end) this.#lastDeleted = undefined;
    if (deletion) this.#delete(row, deletion, isDead ? undefined : end);
    else this.#options.counters.count("blocks");
    this.#move(row, undefined, head);
  }

  /** @param end the row with which the thread ended; undefined if it had ended before. */
  #delete(row: StoredRow, deletion: Deletion, end: Head | undefined): void {
    const { id, expectedRevision } = deletion;
    // A deletion that is repeated after minutes is another one.
    const sentAt = row.origin?.sentAt ?? this.now;
    const isAgain = deletion.made && sentAt - deletion.made.sentAt < MINUTE;
    if (isAgain && !deletion.made?.wasOver && end)
      this.#fail("exactly once", `${id} deleted the thread twice`);
    const revision = this.state?.revision ?? null;
    if (end && expectedRevision !== undefined && expectedRevision !== revision)
      this.#fail("compare and set", `${id} expected ${expectedRevision}, not ${revision}`);
    this.hasDeletions = true;
    deletion.made = {
      step: this.#step + 1,
      row: row.number,
      wasOver: !end,
      sentAt,
      root: row.head?.root ?? 0,
    };
    if (!end) return;
    this.#deleted.set(end.incarnation, end.expiresAt ?? Number.POSITIVE_INFINITY);
    this.#lastDeleted = { incarnation: end.incarnation, n: end.n, at: this.now };
    this.#expire(end);
    this.#options.counters.count("deletions");
  }

  #commit(row: StoredRow, head: Head, end: Head | undefined): void {
    const { counters, scheduler } = this.#options;
    const { earlier = [], operationId = "", digest = "" } = head;
    const before = end && end.n > 0 ? this.state : undefined;
    const first = before && end ? end.n + 1 : 1;
    const last = first + earlier.length;
    if (head.n !== last) this.#fail("count", `commit ${head.n} in the place of commit ${last}`);
    if (before && end) this.#checkAlive(row, end);
    const calls = [...(row.origin?.earlier ?? earlier.map(() => undefined)), row.origin?.call];
    const commits = [...earlier, [operationId, digest] as const].map(([id, change], index) => {
      return this.#applyCommit(row, head, { id, digest: change }, first + index, calls[index]);
    });
    const { state, operation } = commits.at(-1) as (typeof commits)[number];
    this.#checkHead(head, commits, state);
    this.#expiries.check(operation.settings, head.expiresAt, !before);
    this.#counted = state;
    if (earlier.length > 0) {
      counters.count("shared rows");
      counters.largest("most commits in a row", commits.length);
    }
    if (operation.drop === "all") counters.count("drops of all");
    if (head.fragments) counters.count("large commits");
    scheduler.note(() => `${state.revision} is now ${JSON.stringify(state.bounds)}`);
    this.#row = undefined;
    this.#move(row, state, head);
    this.onCommit(row, state, before, operation);
  }

  /** Applies one of a row's commits to the state after the one before it. */
  #applyCommit(
    row: StoredRow,
    head: Head,
    identity: Pick<Operation, "id" | "digest">,
    n: number,
    call: SimulatedCall | undefined,
  ): { readonly operation: Operation; readonly state: ThreadState; readonly start: number } {
    const { counters, operations } = this.#options;
    const { id, digest } = identity;
    const { incarnation } = head;
    const before = this.#row ? this.#row.state : n > 1 ? this.state : undefined;
    const revision = formatRevision(incarnation, n);
    if (this.#revisions.has(revision)) this.#fail("revision", `revision ${revision} was reused`);
    this.#revisions.add(revision);
    const operation = operations.get(keyOf(identity));
    if (!operation) this.#fail("content", `row ${row.number} has a change that no caller requested`);
    this.#checkOnce(id, { incarnation, n }, row.origin, call?.caller);
    this.#lastDeleted = undefined;
    if (operation.expectedRevision !== undefined && operation.expectedRevision !== (before?.revision ?? null))
      this.#fail("compare and set", `${id} expected ${operation.expectedRevision}, not ${before?.revision}`);

    const pieces = (index: number) =>
      (head.fragments ?? [])
        .filter(([, from, to]) => from <= index && index < to)
        .map(([fragment, from]) => ({ row: fragment, index: index - from }));
    const offset = this.#row?.texts ?? 0;
    const applied = apply(before, operation, revision, (text, index) => ({
      text,
      spots: [{ row: row.number, index: offset + index }, ...pieces(index)],
    }));
    if (!before) this.#expire(head);
    for (const text of applied.written) text.uses += 1;
    for (const text of applied.dead) this.#die(text, { incarnation, n });
    const digests = this.#digests.get(id) ?? new Set();
    this.#digests.set(id, digests.add(digest));
    operation.commits.push({
      revision,
      incarnation,
      n,
      row: row.number,
      caller: call?.caller,
      step: this.#step + 1,
    });
    counters.count("commits");
    this.#row = { state: applied.state, texts: offset + applied.written.length };
    return { operation, state: applied.state, start: applied.plan.kept.next };
  }

  /** If a thread has expired for a writer, the writer must begin a new incarnation. */
  #checkAlive(row: StoredRow, { expiresAt = Number.POSITIVE_INFINITY }: Head): void {
    const wall = row.origin?.earliestWall ?? 0;
    if (wall - PLANNING_MS > expiresAt)
      this.#fail("expiry", `row ${row.number} continues a thread that has expired`);
  }

  #checkOnce(
    id: string,
    { incarnation, n }: Pick<Head, "incarnation" | "n">,
    origin: RowOrigin | undefined,
    caller: string | undefined,
  ): void {
    const last = this.#newest.get(id);
    const isCallers = caller !== undefined && last?.caller === caller;
    // A caller's own attempt is remembered over a deletion, for a day, while the thread would have existed.
    const isDeleted =
      this.now - (last?.at ?? 0) < DAY &&
      (origin?.latestWall ?? 0) < (this.#deleted.get(last?.incarnation ?? "") ?? 0);
    const isRepeat =
      last?.incarnation === incarnation
        ? n - last.n < REMEMBERED_OPERATIONS || isCallers
        : isDeleted && (isCallers || this.#isKnown(last));
    if (isRepeat && last)
      this.#fail("exactly once", `${id} took place as commit ${last.n} and as commit ${n}`);
    this.#newest.set(id, { incarnation, n, caller, at: this.now });
  }

  /** Whether the writer that begins the next incarnation still remembers a commit of the last deleted one. */
  #isKnown(last: { readonly incarnation: string; readonly n: number } | undefined): boolean {
    const { incarnation, n, at } = this.#lastDeleted ?? {};
    if (!last || last.incarnation !== incarnation) return false;
    return this.now - (at ?? 0) < DAY && (n ?? 0) - last.n < REMEMBERED_OPERATIONS;
  }

  #checkHead(
    head: Head,
    commits: readonly { readonly operation: Operation; readonly start: number }[],
    { bounds }: ThreadState,
  ): void {
    const says: SequenceBounds = {
      first: head.bounds[0],
      next: head.bounds[1],
      pinned: head.pinned?.[0] ?? null,
      compaction: head.compaction?.[0] ?? null,
    };
    if (!isDeepStrictEqual(says, { ...bounds }))
      this.#fail("trimming", `the head says ${JSON.stringify(says)}, not ${JSON.stringify(bounds)}`);
    const kinds = commits.flatMap(({ operation }) => operation.append.map(({ kind }) => kind)).join("");
    const start = commits[0]?.start;
    if (head.start !== start || (head.kinds ?? "") !== kinds)
      this.#fail("content", `the head says ${head.start} ${head.kinds}, not ${start} ${kinds}`);
    for (const { operation } of commits) {
      const { ttlMs } = operation.settings;
      const expiresAt = ttlMs === undefined ? undefined : head.at + ttlMs;
      if (head.expiresAt !== expiresAt)
        this.#fail("expiry", `the head says ${head.expiresAt}, not ${expiresAt}`);
    }
  }

  /** The texts of an earlier incarnation are dead. */
  #expire(head: Head): void {
    if (this.#counted) for (const { text } of placedIn(this.#counted)) this.#die(text, head);
    this.#counted = undefined;
  }

  #die(text: Text, { incarnation, n }: Pick<Head, "incarnation" | "n">): void {
    text.uses -= 1;
    text.diedAt = { incarnation, n };
  }

  #move(row: StoredRow, state: ThreadState | undefined, head: Head): void {
    const end = this.endHead;
    this.end = row;
    if (row.origin?.call) row.origin.call.rows += 1;
    const expiresAt = state ? head.expiresAt : undefined;
    this.#step += 1;
    this.history.push({ step: this.#step, state, expiresAt });
    if (state) this.onRow(head, state, end);
    if (this.history.length < 1_000) return;
    const oldest = this.#options.oldestNeeded();
    const keepFrom = this.history.findLastIndex(({ step }) => step <= oldest);
    this.history = this.history.slice(Math.max(0, Math.min(keepFrom, this.history.length - 100)));
  }

  #fail(rule: string, message: string): never {
    throw new SimulationFailure(rule, message);
  }
}
