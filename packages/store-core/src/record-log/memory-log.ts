import type { Amendment, LogRow, RecordLog, RecordLogCapabilities } from "./record-log.ts";

class Stream {
  readonly rows = new Map<number, LogRow>();
  /** The highest number that was ever inserted. */
  top = 0;

  /** The rows from `from` to `to`, highest first. */
  *between(from: number, to: number): Generator<LogRow> {
    // Where few of the numbers have a row, those are sorted out.
    const isSparse = this.top > 2 * this.rows.size + 1_000;
    if (isSparse) {
      for (const number of [...this.rows.keys()].sort((one, other) => other - one)) {
        const row = this.rows.get(number);
        if (row && number >= from && number <= to) yield row;
      }
      return;
    }
    for (let number = Math.min(to, this.top); number >= from; number--) {
      const row = this.rows.get(number);
      if (row) yield row;
    }
  }
}

/**
 * A record log in this process's memory: the reference for those over real backends, and what the conformance suite
 * proves `RecordLogDriver` on. Deletes expired rows only when told to, so that tests decide when.
 */
export class MemoryRecordLog implements RecordLog {
  readonly capabilities: RecordLogCapabilities;
  readonly #streams = new Map<string, Stream>();

  /** @param maxRowBytes default 400 KiB. */
  constructor(maxRowBytes = 400 * 1024) {
    this.capabilities = Object.freeze({
      backend: "memory-log",
      sharing: "driver",
      roundTrips: Object.freeze({ commit: 1, read: 1 }),
      maxRowBytes,
    });
  }

  async insert(stream: string, row: LogRow): Promise<boolean | LogRow> {
    const { rows } = this.#stream(stream);
    const taken = rows.get(row.number);
    if (taken) return taken;
    rows.set(row.number, row);
    this.#stream(stream).top = Math.max(this.#stream(stream).top, row.number);
    return true;
  }

  async read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    const found: LogRow[] = [];
    for (const row of this.#stream(stream).between(1, below - 1)) {
      if (found.length >= limit) break;
      found.push(row);
    }
    return found;
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    for (const { from, to, blank, expiresAt, extendTo } of amendments) {
      for (const row of this.#stream(stream).between(from, to)) {
        this.#stream(stream).rows.set(row.number, {
          ...row,
          texts: row.texts.map((text, index) => (isBlanked(blank, index) ? "" : text)),
          expiresAt: amendedExpiry(row.expiresAt, expiresAt, extendTo),
        });
      }
    }
  }

  async close(): Promise<void> {}

  classifyError(): undefined {
    return undefined;
  }

  /** Deletes what expired before `now`, as a backend does at a time of its own. Returns how many rows went. */
  sweep(now: number): number {
    let swept = 0;
    for (const { rows } of this.#streams.values()) {
      for (const [number, { expiresAt }] of rows) {
        if (expiresAt !== undefined && expiresAt <= now && rows.delete(number)) swept++;
      }
    }
    return swept;
  }

  /** All rows of the streams whose name ends in `suffix`, for whoever looks behind the driver. */
  rowsOf(suffix: string): LogRow[] {
    return [...this.#streams]
      .filter(([name]) => name.endsWith(suffix))
      .flatMap(([, { rows }]) => [...rows.values()]);
  }

  /** Puts a text in the place of another, for tests of damage. */
  plant(stream: string, number: number, index: number, text: string): void {
    const { rows } = this.#stream(stream);
    const row = rows.get(number);
    if (!row) throw new RangeError(`no row ${number}`);
    rows.set(number, { ...row, texts: row.texts.with(index, text) });
  }

  #stream(name: string): Stream {
    const stream = this.#streams.get(name) ?? new Stream();
    this.#streams.set(name, stream);
    return stream;
  }
}

/** What an amendment makes of a row's `expiresAt`; undefined: never. */
export function amendedExpiry(
  before: number | undefined,
  expiresAt: Amendment["expiresAt"],
  extendTo: Amendment["extendTo"],
): number | undefined {
  if (expiresAt !== undefined) return expiresAt;
  if (before === undefined || extendTo === null) return undefined;
  return extendTo === undefined ? before : Math.max(before, extendTo);
}

/** Whether an amendment blanks the text at an index. */
export function isBlanked(blank: Amendment["blank"], index: number): boolean {
  return blank === "all" || (blank !== undefined && index >= blank.from && index < blank.to);
}
