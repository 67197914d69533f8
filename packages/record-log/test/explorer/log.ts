import type { Amendment, LogRow } from "../../src/index.ts";

/** A request to the log, from its sending to its reply. */
export type Order =
  | { readonly verb: "insert"; readonly row: LogRow }
  | { readonly verb: "read"; readonly below: number; readonly limit: number }
  | { readonly verb: "amend"; readonly amendments: readonly Amendment[] }
  | { readonly verb: "streams"; readonly stream: string };

/** One stream of a record log in memory, whose requests take effect when the explorer says so. */
export class Rows {
  readonly #rows = new Map<number, LogRow>();
  #sorted: readonly LogRow[] | undefined;

  constructor(rows: Iterable<LogRow> = []) {
    for (const row of rows) this.#rows.set(row.number, row);
  }

  /** All rows, highest first. */
  all(): readonly LogRow[] {
    this.#sorted ??= [...this.#rows.values()].sort((one, other) => other.number - one.number);
    return this.#sorted;
  }

  #set(row: LogRow): void {
    this.#rows.set(row.number, row);
    this.#sorted = undefined;
  }

  delete(numbers: readonly number[]): void {
    for (const number of numbers) this.#rows.delete(number);
    this.#sorted = undefined;
  }

  /** The rows that the backend may delete. */
  expired(now: number): readonly LogRow[] {
    return this.all().filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt <= now);
  }

  /** The existing rows that amendments change. */
  touchedBy(amendments: readonly Amendment[]): number[] {
    const isTouched = ({ number }: LogRow) =>
      amendments.some(({ from, to }) => from <= number && number < to);
    return this.all()
      .filter(isTouched)
      .map(({ number }) => number);
  }

  /** @param only the rows that an amendment reaches before it is torn. Default: all. */
  apply(order: Order, only?: readonly number[]): unknown {
    switch (order.verb) {
      case "insert": {
        const taken = this.#rows.get(order.row.number);
        if (!taken) this.#set(order.row);
        return taken ?? true;
      }
      case "read":
        return this.all()
          .filter(({ number }) => number < order.below)
          .slice(0, order.limit);
      case "streams":
        return { streams: this.all().some(({ number }) => number < 2 ** 40) ? [order.stream] : [] };
      case "amend":
        for (const amendment of order.amendments) this.#amend(amendment, only);
        return undefined;
    }
  }

  #amend({ from, to, blank, expiresAt, extend }: Amendment, only?: readonly number[]): void {
    for (const row of this.all()) {
      const { number, texts } = row;
      if (number < from || number >= to || (only && !only.includes(number))) continue;
      const isBlank = (index: number) =>
        blank === "all" || (blank !== undefined && blank.from <= index && index < blank.to);
      const before = row.expiresAt ?? Number.POSITIVE_INFINITY;
      const extended = extend && before >= extend.atLeast ? (extend.to ?? Number.POSITIVE_INFINITY) : 0;
      const after = expiresAt ?? Math.max(before, extended);
      this.#set({
        ...row,
        texts: texts.map((text, index) => (isBlank(index) ? "" : text)),
        expiresAt: after === Number.POSITIVE_INFINITY ? undefined : after,
      });
    }
  }
}
