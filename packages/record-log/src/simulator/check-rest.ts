import type { Head } from "../rows/format.ts";
import { SimulationFailure } from "./failure.ts";
import type { Counters } from "./faults.ts";
import { DAY } from "./network.ts";
import { type Commit, nameOf, type Operation, type Text } from "./operation.ts";
import { placedIn, rowsOf, type ThreadState } from "./reference.ts";
import type { Deletion, SimulatedCall, StoredRow } from "./simulated-call.ts";
import type { ThreadModel } from "./thread-model.ts";

/** After this many commits the rows of a failed upload are blank: 64, and two collections. */
const UPLOAD_COMMITS = 128;
/** Rows of the newest commits stay for a while, dead or not. */
const RECENT_COMMITS = 130;
/** Freed rows may be deleted within this time, by any clock. */
const FREED_WITHIN = 8 * DAY;
/** Rows of a deleted thread may be deleted within this time. */
const DELETED_WITHIN = 37 * DAY;

/** Checks the rows that the backend stores. */
export class RestChecks {
  readonly #model: ThreadModel;
  readonly #texts: ReadonlyMap<string, Text>;
  readonly #counters: Counters;
  readonly #trimmedWithinCommits: number;

  constructor(
    model: ThreadModel,
    texts: ReadonlyMap<string, Text>,
    counters: Counters,
    trimmedWithinCommits: number,
  ) {
    this.#model = model;
    this.#texts = texts;
    this.#counters = counters;
    this.#trimmedWithinCommits = trimmedWithinCommits;
  }

  /** A commit whose row the thread still needs is found, independent of its age. */
  checkUnknown({ id, commits }: Operation, since: number): void {
    const { history, current } = this.#model;
    const first = Math.max(
      0,
      history.findLastIndex(({ step }) => step <= since),
    );
    const moments = history.slice(first).map(({ state }) => state);
    const commit = commits.find(({ row, step }) => {
      return step <= since && moments.every((state) => state && rowsOf(state).has(row));
    });
    if (commit && current.expiresAt === undefined)
      throw new SimulationFailure(
        "known outcome",
        `the outcome of ${id} was reported as unknown, but is ${commit.revision}`,
      );
  }

  /** A call that has returned leaves no text in rows that it inserted too late. */
  checkLateRows({ lateRows, operationId }: SimulatedCall): void {
    for (const { number, row, isDoubled } of lateRows) {
      if (
        !isDoubled &&
        this.#model.rows.get(number)?.row === row &&
        row.texts.some((text) => text.length > 1)
      )
        throw new SimulationFailure("late text", `row ${number}, too late for ${operationId}, has its text`);
    }
  }

  /** After an acknowledged drop of all messages, no earlier text is readable, except those that the thread still has. */
  checkCleared({ id, commits }: Operation): void {
    const last = commits.at(-1);
    const end = this.#model.endHead;
    // Texts that a deletion made dead are removed when the deletion is acknowledged.
    if (!last || end?.incarnation !== last.incarnation || end.closed) return;
    for (const stored of this.#model.rows.all()) {
      const { head, insertedAt } = stored;
      if (!head || insertedAt >= last.step - 1 || head.incarnation !== end.incarnation) continue;
      if (!isChecked(stored)) continue;
      const text = this.#deadText(stored, last);
      if (text !== undefined)
        throw new SimulationFailure(
          "clear",
          `row ${stored.number} still has ${text} after the drop of all ${id}`,
        );
    }
  }

  /** After an acknowledged deletion, no earlier text is readable, and the keys are freed. */
  checkDeleted({ id, made }: Deletion): void {
    if (!made) return;
    const { now } = this.#model;
    for (const stored of this.#model.rows.all()) {
      const { number, row, head, insertedAt, isExtendedLate } = stored;
      if (number > made.row || insertedAt >= made.step || !isChecked(stored)) continue;
      // A root that another writer inserted meanwhile belongs to the next incarnation.
      if (head?.base !== undefined && number > made.root) continue;
      // Its texts belong to another row: a root's number may be reused after the deletion.
      if (row.texts.some((text) => text.length > 1))
        throw new SimulationFailure("deletion", `row ${number} still has its text after ${id}`);
      const isKept = (row.expiresAt ?? Number.POSITIVE_INFINITY) > now + DELETED_WITHIN;
      if (!isKept) continue;
      if (isExtendedLate) this.#counters.count("deleted rows that a late amendment keeps");
      else
        throw new SimulationFailure(
          "deletion",
          `row ${number} of root ${head?.root} expires at ${row.expiresAt} after ${id}`,
        );
    }
  }

  /** Texts that were trimmed or dropped long enough ago are removed, and so are old uploads. Dead rows do not accumulate. */
  checkCollected(end: Head, state: ThreadState, before: ThreadState | undefined, operation: Operation): void {
    let [rows, freed] = [0, 0];
    for (const stored of this.#model.rows.all()) {
      const { head } = stored;
      if (!head || head.base !== undefined || !isChecked(stored)) continue;
      this.#checkGone(stored, head, end);
      if (stored.isFreed) {
        freed += 1;
        this.#checkFreed(stored);
      } else if (head.incarnation === end.incarnation && head.n <= end.n - RECENT_COMMITS) {
        rows += 1;
      }
    }
    this.#counters.largest("most freed rows at rest", freed);
    // The next collection frees what this commit trims.
    const needed = Math.max(rowsOf(state).size, before ? rowsOf(before).size : 0);
    this.#counters.largest("most dead rows at rest", rows - needed);
    const isQuiet = operation.drop === 0 && (end.uploads ?? []).length === 0;
    const isBusy = (end.free ?? []).some(([from, to]) => to - from > 160);
    if (isQuiet && !isBusy && rows > 2 * needed + 12)
      throw new SimulationFailure("rows at rest", `${rows} old rows for ${needed} that are needed`);
  }

  /** All texts of the thread are stored. */
  checkStored(state: ThreadState): void {
    for (const { text, spots } of placedIn(state)) {
      for (const { row, index } of spots) {
        const stored = this.#model.rows.get(row)?.row.texts[index];
        const isThere = spots.length > 1 ? (stored ?? "") !== "" : stored === text.record;
        if (!isThere)
          throw new SimulationFailure(
            "stored",
            `row ${row} no longer has ${text.name}, which is in the thread`,
          );
      }
    }
  }

  /** No needed row expires before the time in the head. */
  checkPromise(end: Head, state: ThreadState): void {
    const { promisedUntil: promised = Number.POSITIVE_INFINITY } = end;
    for (const number of [...rowsOf(state), end.root]) {
      const expiresAt = this.#model.rows.get(number)?.row.expiresAt ?? Number.POSITIVE_INFINITY;
      if (expiresAt < promised)
        throw new SimulationFailure(
          "promise",
          `row ${number} expires at ${expiresAt}, though row ${end.number} promises ${promised}`,
        );
    }
  }

  #checkGone(stored: StoredRow, head: Head, end: Head): void {
    for (const stands of stored.row.texts) {
      const text = stands.length > 1 ? this.#texts.get(nameOf(stands) ?? "") : undefined;
      if (!text || text.uses > 0) continue;
      // A caller that repeats an operation after it was forgotten uploads texts again that died before.
      const diedAt = isUploadedAfter(head, text.diedAt) ? undefined : text.diedAt;
      const isLate = diedAt
        ? diedAt.incarnation === end.incarnation && end.n - diedAt.n >= this.#trimmedWithinCommits
        : head.incarnation === end.incarnation && end.n - head.n > UPLOAD_COMMITS;
      const isOfBefore = stored.isLinked && head.incarnation !== end.incarnation;
      if (isOfBefore && end.n >= this.#trimmedWithinCommits && stored.number < (this.#model.baseOf(end) ?? 0))
        throw new SimulationFailure(
          "text of before",
          `row ${stored.number} still has ${text.name} of an earlier incarnation`,
        );
      if (isLate)
        throw new SimulationFailure(
          "trimmed text",
          `row ${stored.number} still has ${text.name} at commit ${end.n}; it died at ${diedAt?.n ?? "its upload"}`,
        );
    }
  }

  #checkFreed({ number, row, isExtendedLate }: StoredRow): void {
    if (isExtendedLate) {
      this.#counters.count("freed rows that a late amendment keeps");
      return;
    }
    const { now, hasDeletions } = this.#model;
    const within = hasDeletions ? DELETED_WITHIN : FREED_WITHIN;
    if (row.expiresAt === undefined || row.expiresAt > now + within)
      throw new SimulationFailure("freed rows", `row ${number} was freed and expires at ${row.expiresAt}`);
  }

  /** A text that is not blank and was dead when a commit was made. */
  #deadText({ row }: StoredRow, { incarnation, n }: Commit): string | undefined {
    for (const stands of row.texts) {
      const text = stands.length > 1 ? this.#texts.get(nameOf(stands) ?? "") : undefined;
      if (!text || text.uses > 0) continue;
      const { diedAt } = text;
      if (!diedAt || diedAt.incarnation !== incarnation || diedAt.n <= n) return text.name;
    }
    return undefined;
  }
}

/** Whether a row was inserted for an upload after the death of a text. */
function isUploadedAfter({ incarnation, n, operationId }: Head, diedAt: Text["diedAt"]): boolean {
  return operationId === undefined && diedAt?.incarnation === incarnation && n >= diedAt.n;
}

/**
 * Whether a row must not have readable texts. A row that was inserted too late to be part of the thread is blanked by its
 * writer. It stays if the writer died or did not learn of its insert.
 */
function isChecked({ isLinked, isDoubled, origin }: StoredRow): boolean {
  return isLinked || (origin?.call?.ended === "resolved" && !origin.isEcho && !isDoubled);
}
