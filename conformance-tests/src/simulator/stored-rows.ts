import { type Amendment, FIRST_ROW, type Head, type LogRow } from "@scrollback/store-core";
import type { SimulatedCall } from "./client.ts";

/** A row as the simulated backend keeps it, with what only the simulator knows of it. */
export interface StoredRow {
  readonly number: number;
  /** What clients see. Replaced, never changed, so that a reply that is under way keeps what it saw. */
  row: LogRow;
  /** The same without texts. */
  heads: LogRow;
  /** Absent for a row that no driver wrote. */
  readonly head: Head | undefined;
  readonly origin: RowOrigin | undefined;
  /** The step of the thread's history that it was inserted after. */
  readonly insertedAt: number;
  /** Whether the row was part of the thread when it was inserted. */
  isLinked: boolean;
  /** Whether an amendment has set its expiry: its key is to be given back. */
  isFreed: boolean;
  /** Whether that was done by a deletion of the thread. */
  isReleased: boolean;
  /** Whether an amendment has extended its expiry that was late, or came after a deletion: it may keep a freed row. */
  isExtendedLate: boolean;
  /** Whether its insert had a second effect, so that its writer was told that the key is taken. */
  isDoubled: boolean;
}

/** Who sent an insert, and when. */
export interface RowOrigin {
  readonly client: number;
  /** The call that it was sent for; undefined where that is not known. */
  readonly call: SimulatedCall | undefined;
  /** The wall clock that the writer planned the row by lies between the two. */
  readonly earliestWall: number;
  readonly latestWall: number;
  /** When the insert was sent, in simulated time. */
  readonly sentAt: number;
  /** Whether this is the second effect of a request that was doubled. */
  readonly isEcho: boolean;
}

/** The rows of one stream, by number. */
export class StoredRows {
  readonly #rows = new Map<number, StoredRow>();
  /** Lowest first. */
  readonly #numbers: number[] = [];

  get size(): number {
    return this.#rows.size;
  }

  get highest(): number {
    return this.#numbers.at(-1) ?? 0;
  }

  get(number: number): StoredRow | undefined {
    return this.#rows.get(number);
  }

  /** In no order. */
  all(): Iterable<StoredRow> {
    return this.#rows.values();
  }

  numbersWithin(from: number, to: number): number[] {
    return this.#numbers.slice(this.#indexOf(from), this.#indexOf(to));
  }

  /** Highest first. */
  below(below: number, limit: number): StoredRow[] {
    const found: StoredRow[] = [];
    for (let index = this.#indexOf(below) - 1; index >= 0 && found.length < limit; index--) {
      const row = this.#rows.get(this.#numbers[index] ?? 0);
      if (row) found.push(row);
    }
    return found;
  }

  insert(row: StoredRow): void {
    this.#rows.set(row.number, row);
    const numbers = this.#numbers;
    if (row.number > (numbers.at(-1) ?? 0)) numbers.push(row.number);
    else numbers.splice(this.#indexOf(row.number), 0, row.number);
  }

  delete(number: number): void {
    if (this.#rows.delete(number)) this.#numbers.splice(this.#indexOf(number), 1);
  }

  /** Amends one row, as the contract says; a row that is not there stays so. */
  amend(number: number, { blank, expiresAt, extend }: Amendment, isLate: boolean): void {
    const stored = this.#rows.get(number);
    if (!stored) return;
    const { row } = stored;
    let { texts } = row;
    if (blank === "all") {
      texts = texts.map(() => "");
    } else if (blank !== undefined) {
      texts = texts.map((text, index) => (index >= blank.from && index < blank.to ? "" : text));
    }
    let expires = row.expiresAt;
    if (expiresAt !== undefined) {
      expires = expiresAt;
      stored.isFreed = true;
      stored.isReleased ||= blank === "all" || number < FIRST_ROW;
    } else if (extend && expires !== undefined && expires >= extend.atLeast) {
      // A raise that is under way while the thread is deleted, too.
      stored.isExtendedLate ||= isLate || stored.isReleased;
      expires = extend.to === null ? undefined : Math.max(expires, extend.to);
    }
    this.replace(stored, { ...row, texts, expiresAt: expires });
  }

  replace(stored: StoredRow, row: LogRow): void {
    stored.row = row;
    stored.heads = { ...row, texts: [] };
  }

  /** The index of the first number that is not below `number`. */
  #indexOf(number: number): number {
    const numbers = this.#numbers;
    let [low, high] = [0, numbers.length];
    if (high === 0 || number > (numbers[high - 1] ?? 0)) return high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((numbers[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
