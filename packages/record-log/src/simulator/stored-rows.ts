import { type Amendment, FIRST_ROW, type LogRow } from "../index.ts";
import type { StoredRow } from "./simulated-call.ts";

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

  /** Amends one row according to the contract; does nothing if the row does not exist. */
  amend(number: number, { from, blank, expiresAt, extend }: Amendment, isLate: boolean): void {
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
      // Only a deletion frees roots and all other rows. A collection that begins as low frees rows of an ended incarnation,
      // which nobody extends.
      stored.isReleased ||= from <= FIRST_ROW;
    } else if (extend && expires !== undefined && expires >= extend.atLeast) {
      // Also a raise that is under way while the thread is deleted.
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
