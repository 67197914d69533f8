import {
  type Amendment,
  checkStreamCursor,
  FIRST_ROW,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
  streamPageOf,
} from "./record-log.ts";

class Stream {
  readonly rows = new Map<number, LogRow>();
  /** The numbers of the rows, in order. */
  readonly #numbers: number[] = [];

  insert(row: LogRow): void {
    this.rows.set(row.number, row);
    this.#numbers.splice(this.#indexOf(row.number), 0, row.number);
  }

  delete(number: number): void {
    if (this.rows.delete(number)) this.#numbers.splice(this.#indexOf(number), 1);
  }

  /** The rows `from` to `to - 1`, highest first. */
  *between(from: number, to: number): Generator<LogRow> {
    for (let index = this.#indexOf(to) - 1; index >= 0; index--) {
      const row = this.rows.get(this.#numbers[index] ?? 0);
      if (!row || row.number < from) return;
      yield row;
    }
  }

  /** The index of the first number that is not below `number`. */
  #indexOf(number: number): number {
    let [low, high] = [0, this.#numbers.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] ?? 0) < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/**
 * A record log in this process's memory: the reference for logs over real backends. The conformance suite tests `RecordLogDriver`
 * on it. Deletes expired rows only in `sweep`, so that tests choose the time.
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
    const own = this.#stream(stream);
    const taken = own.rows.get(row.number);
    if (taken) return taken;
    own.insert(row);
    return true;
  }

  async read(stream: string, below: number, limit: number): Promise<LogRow[]> {
    const found: LogRow[] = [];
    for (const row of this.#stream(stream).between(1, below)) {
      if (found.length >= limit) break;
      found.push(row);
    }
    return found;
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    const own = this.#stream(stream);
    for (const amendment of amendments) {
      const { from, to, blank } = amendment;
      for (const row of own.between(from, to)) {
        own.rows.set(row.number, {
          ...row,
          texts: blank ? row.texts.map((text, index) => (isBlanked(blank, index) ? "" : text)) : row.texts,
          expiresAt: amendedExpiry(row.expiresAt, amendment),
        });
      }
    }
  }

  async streams(request: StreamsRequest): Promise<StreamPage> {
    checkStreamCursor(request);
    const { prefix, limit, after } = request;
    const names = [...this.#streams]
      .filter(
        ([name, { rows }]) =>
          name.startsWith(prefix) && (after === undefined || name > after) && hasRoot(rows),
      )
      .map(([name]) => name)
      .sort();
    return streamPageOf(names, limit);
  }

  async close(): Promise<void> {}

  classifyError(): undefined {
    return undefined;
  }

  /** Deletes the rows that expired before `now`, as a backend does at any time. Returns the number of deleted rows. */
  sweep(now: number): number {
    let swept = 0;
    for (const stream of this.#streams.values()) {
      for (const { number, expiresAt } of [...stream.rows.values()]) {
        if (expiresAt === undefined || expiresAt > now) continue;
        stream.delete(number);
        swept++;
      }
    }
    return swept;
  }

  /** All rows of the streams whose names end in `suffix`, for tests that inspect the driver's rows. */
  rowsOf(suffix: string): LogRow[] {
    return [...this.#streams]
      .filter(([name]) => name.endsWith(suffix))
      .flatMap(([, { rows }]) => [...rows.values()]);
  }

  /** Replaces a text, for tests of damage. */
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

function hasRoot(rows: ReadonlyMap<number, LogRow>): boolean {
  return [...rows.keys()].some((number) => number < FIRST_ROW);
}

/** The `expiresAt` of a row after an amendment; undefined: never. */
export function amendedExpiry(
  before: number | undefined,
  { expiresAt, extend }: Pick<Amendment, "expiresAt" | "extend">,
): number | undefined {
  if (expiresAt !== undefined) return expiresAt;
  if (before === undefined || !extend || before < extend.atLeast) return before;
  return extend.to === null ? undefined : Math.max(before, extend.to);
}

/** Whether an amendment blanks the text at an index. */
export function isBlanked(blank: Amendment["blank"], index: number): boolean {
  return blank === "all" || (blank !== undefined && index >= blank.from && index < blank.to);
}
