// Exceeds 300 lines because a read is repeated as a whole when the thread changes, so its steps share one state.

import { StoreError } from "@scrollback/store-core";
import {
  formatRevision,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadView,
} from "@scrollback/store-core/driver";
import type { Clock } from "@scrollback/store-core/internal";
import { FIRST_ROW, type LogRow, type RecordLog } from "../record-log.ts";
import type { Fragment, Spot } from "../rows/field-types.ts";
import {
  boundsOf,
  type ContentsHead,
  decodeHead,
  decodeHeadIfSound,
  decodePlainContents,
  type Head,
} from "../rows/format.ts";
import { joined } from "../rows/ranges.ts";
import { isAlive, isEnd } from "./chain.ts";
import { highestLive } from "./locate.ts";

const PAGE_ROWS = 256;
/** Further rows are read with one request if the rows so far were so small that all together have about this size. */
const PAGE_SIZE = 4 * 1024 ** 2;
const MOST_PAGE_ROWS = 4_096;
/** A polling reader finds few new rows and reads often. */
const ROWS_AFTER = 32;
/** The number of additional rows per read: some rows hold no message. */
const ROWS_TO_SPARE = 4;
/** A thread with more missing messages than this is reported as a whole, not message by message. */
const MOST_MISSING = 10_000;
const MAX_ATTEMPTS = 100;

/** The end of a page: the next older page may begin there. */
export interface PageHint {
  readonly incarnation: string;
  /** The number of the end when the page was read. */
  readonly seen: number;
  /** All messages before `sequence` are in `row` or below. */
  readonly sequence: number;
  readonly row: number;
  /** The average number of messages in the rows of the page. */
  readonly density: number;
  /** The maximum number of rows for one request, by the size of the rows that were read. */
  readonly pageRows: number;
}

/** A reader's guesses before it has read the end. A correct guess saves a round trip; a wrong one costs a request. */
export interface ReadHints {
  /** The end as a writer of this process last saw it. */
  readonly end: Head | undefined;
  readonly page: PageHint | undefined;
}

/**
 * Reads one revision of a thread: first the end, then downward; each row names the next. A missing text may mean that
 * another commit came in between. The reader then reads the end again and continues with all rows that it has read, so
 * that a busy writer cannot delay it indefinitely. If that end still needs the text, it is damaged or missing, and its record
 * is `""`: a text is blanked only after a row has dropped its message.
 */
export async function readThread(
  log: RecordLog,
  stream: string,
  request: ReadRequest,
  clock: Clock,
  hints: ReadHints,
): Promise<{ view: ThreadView; page: PageHint | undefined }> {
  const reader = new RowReader(log, stream);
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    if (attempt > 0 && request.signal?.aborted) break;
    reader.beginAttempt();
    const read = new ThreadRead(reader, request, hints);
    const end = await read.readEnd();
    if (!isAlive(end, clock.wall())) return { view: NO_THREAD, page: undefined };
    const view = await read.readView(end);
    if (view && read.isWhole) return { view, page: read.page };
  }
  throw new StoreError(
    "UNAVAILABLE",
    `the thread changed during each of ${MAX_ATTEMPTS} attempts to read it`,
    {
      retryable: true,
    },
  );
}

/**
 * The rows of a stream that one call has read. Rows never change, except that texts are blanked. So the first read of a
 * row is used.
 */
class RowReader {
  readonly #log: RecordLog;
  readonly #stream: string;
  readonly #rows = new Map<number, LogRow>();
  /** The ranges of numbers that were read, both ends included: those of earlier attempts, then those of this attempt. */
  readonly #ranges: { readonly from: number; readonly to: number }[] = [];
  #earlierRanges = 0;
  /** Of the rows read, in UTF-16 units, which is close enough. */
  #size = 0;

  constructor(log: RecordLog, stream: string) {
    this.#log = log;
    this.#stream = stream;
  }

  beginAttempt(): void {
    this.#earlierRanges = this.#ranges.length;
  }

  /** Whether a row was read, or found missing, before the end of this attempt was read. */
  wasReadBefore(number: number): boolean {
    return this.#ranges.slice(0, this.#earlierRanges).some(({ from, to }) => from <= number && number <= to);
  }

  /** The maximum number of rows for one request: the smaller the rows so far, the more. */
  get pageRows(): number {
    const rows = Math.floor((PAGE_SIZE * this.#rows.size) / Math.max(1, this.#size));
    return Math.min(MOST_PAGE_ROWS, Math.max(PAGE_ROWS, rows));
  }

  /** Reads rows below a number, highest first, whether or not they were read before. */
  async read(below: number, limit: number): Promise<LogRow[]> {
    const rows = await this.#log.read(this.#stream, below, limit, false);
    const lowest = rows.length < limit ? undefined : rows.at(-1);
    this.#ranges.push({ from: lowest?.number ?? 0, to: below - 1 });
    return rows.map((row) => {
      const known = this.#rows.get(row.number);
      // Only its texts: a request that ran beside this one may have found the row freed later.
      if (known && known.head === row.head) return { ...row, texts: known.texts };
      this.#rows.set(row.number, row);
      this.#size += row.head.length;
      for (const text of row.texts) this.#size += text.length;
      return row;
    });
  }

  /** Returns the row of a number. If it was not read yet, reads up to `limit` rows from it downward. */
  async row(number: number, limit: number): Promise<LogRow | undefined> {
    if (!this.#rows.has(number)) await this.read(number + 1, limit);
    return this.#rows.get(number);
  }

  isEnd(row: LogRow, head: Head, below: LogRow | undefined): Promise<boolean> {
    return isEnd(this.#log, this.#stream, row, head, below);
  }

  known(number: number): LogRow | undefined {
    return this.#rows.get(number);
  }
}

/** One attempt to read a revision. */
class ThreadRead {
  /** Whether all that is missing is missing permanently. */
  isWhole = true;
  page: PageHint | undefined;
  readonly #reader: RowReader;
  readonly #request: ReadRequest;
  readonly #hints: ReadHints;
  readonly #guesses: readonly Promise<unknown>[];

  constructor(reader: RowReader, request: ReadRequest, hints: ReadHints) {
    this.#reader = reader;
    this.#request = request;
    this.#hints = hints;
    this.#guesses = this.#guess();
  }

  async readEnd(): Promise<Head | undefined> {
    const { limit, before, after } = this.#request;
    const density = this.#hints.page?.density ?? 1;
    const most = after === undefined ? this.#rowsAtFirst() : ROWS_AFTER;
    // At least two rows: the second shows whether the first is part of the thread.
    const wanted = before === undefined ? Math.max(1, rowsFor(limit, density, most)) + 1 : 2;
    const [[newest, below]] = await Promise.all([
      this.#reader.read(Number.POSITIVE_INFINITY, wanted),
      ...this.#guesses,
    ]);
    if (!newest || newest.number < FIRST_ROW) return undefined;
    const head = decodeHead(newest.number, newest.head);
    return head.closed || (await this.#reader.isEnd(newest, head, below)) ? head : undefined;
  }

  /** The maximum number of rows for the first request: as many as the last read went down, so that the same read is one request. */
  #rowsAtFirst(): number {
    const { page } = this.#hints;
    if (!page) return PAGE_ROWS;
    return Math.max(PAGE_ROWS, Math.min(page.pageRows, page.seen - page.row + ROWS_TO_SPARE));
  }

  /** Returns undefined if rows are missing that another attempt may find. */
  async readView(end: Head): Promise<ThreadView | undefined> {
    const request = this.#request;
    const bounds = boundsOf(end);
    const range = SequenceBounds.selectRange(bounds, request);
    const found = await this.#readRun(end, range);
    if (!found) return undefined;
    const entries: { sequence: number; record: string }[] = [];
    for (const [sequence, spots] of pinnedIn(end, range))
      entries.push({ sequence, record: await this.#textAt(spots) });
    const metadata = request.metadata && end.metadata ? await this.#textAt(end.metadata) : undefined;
    for (let sequence = range.first; sequence < range.next; sequence++) {
      entries.push({ sequence, record: found[range.next - 1 - sequence] ?? "" });
    }
    return {
      revision: formatRevision(end.incarnation, end.n),
      count: SequenceBounds.countOf(bounds),
      first: SequenceBounds.firstOf(bounds),
      last: SequenceBounds.lastOf(bounds),
      newestCompaction: end.searched?.[2] ?? 0,
      entries,
      createdAt: end.createdAt,
      updatedAt: end.updatedAt ?? 0,
      ...(end.expiresAt !== undefined && { expiresAt: end.expiresAt }),
      ...(metadata !== undefined && { metadata }),
    };
  }

  /**
   * The records of a range's messages, newest first; empty or absent for a missing text. Undefined if rows are missing that
   * another attempt may find.
   */
  async #readRun(end: Head, range: SequenceBounds): Promise<readonly (string | undefined)[] | undefined> {
    const found: (string | undefined)[] = [];
    let count = 0;
    if (range.first >= range.next) return found;
    let { row, low } = await this.#startOf(end, range);
    let [rows, messages] = [0, 0];
    /** The row that was read last, and the last one of these with messages of the range. */
    let [passed, lowest]: (LogRow | undefined)[] = [];
    while (low > range.first && row !== undefined) {
      let next = this.#reader.known(row);
      if (!next) {
        const density = messages / Math.max(1, rows) || (this.#hints.page?.density ?? 1);
        const most = this.#reader.pageRows;
        next = await this.#reader.row(row, rowsFor(low - range.first, density, most) + ROWS_TO_SPARE);
      }
      const contents = next && contentsOf(next);
      if (!next || contents?.incarnation !== end.incarnation) {
        if (!this.#isLost(row)) return undefined;
        // The last row that is known to have dropped messages, of those not passed yet.
        const { cut = 0 } = (passed && decodeHeadIfSound(passed)) ?? end;
        const below = await this.#passDamage(row, cut, end);
        row = below?.kinds ? below.number : below?.newest;
        low = Math.min(low, below?.bounds[1] ?? low);
        continue;
      }
      passed = next;
      const { start: first = 0, kinds = "", fragments } = contents;
      const from = Math.max(first, range.first);
      const to = Math.min(first + kinds.length, low, range.next);
      const texts = fragments ? await this.#joinTexts(fragments, from - first, to - first) : next.texts;
      const textsFrom = fragments ? from : first;
      for (let sequence = to - 1; sequence >= from; sequence--) {
        const text = texts[sequence - textsFrom] ?? "";
        if (text === "" && !fragments) this.#isLost(next.number);
        found[range.next - 1 - sequence] = text;
      }
      if (from < to) {
        count += to - from;
        rows += 1;
        messages += kinds.length;
        lowest = next;
      }
      low = Math.min(low, kinds === "" ? low : first);
      row = kinds === "" ? contents.newest : contents.back;
    }
    if (lowest) {
      const { incarnation, number: seen } = end;
      const density = messages / rows;
      const { pageRows } = this.#reader;
      this.page = { incarnation, seen, sequence: range.first, row: lowest.number, density, pageRows };
    }
    const missing = range.next - range.first - count;
    if (missing > MOST_MISSING) {
      throw new StoreError("CORRUPT", `log row ${end.number} tells of ${missing} messages that are nowhere`);
    }
    return found;
  }

  /** The row that a walk down to a range begins with, and the message before which it stands. */
  async #startOf(end: Head, range: SequenceBounds): Promise<{ row: number | undefined; low: number }> {
    const hint = this.#hints.page;
    const isUsable =
      hint !== undefined &&
      hint.incarnation === end.incarnation &&
      (end.cut ?? 0) <= hint.seen &&
      hint.sequence >= range.next &&
      hint.sequence > end.bounds[0];
    if (isUsable) return { row: hint.row, low: hint.sequence };
    // The oldest messages are in the lowest rows, if few commits were without a message.
    const [first, next] = end.bounds;
    const below = end.edge + (range.next - first) + ROWS_TO_SPARE;
    if (range.next - first < PAGE_ROWS && below < end.number && next - range.next > PAGE_ROWS) {
      const rows = await this.#reader.read(below, below - end.edge);
      const highest = highestLive(rows, end, (end.cut ?? 0) <= end.edge);
      if (highest && highest.to >= range.next) return { row: highest.row, low: highest.to };
    }
    return { row: end.newest, low: next };
  }

  /**
   * The next readable row below a damaged one. Only its own head names the messages that the damaged row dropped. If it
   * may have dropped messages, lower messages may be dropped too.
   */
  async #passDamage(row: number, cut: number, end: Head): Promise<Head | undefined> {
    const lowest = Math.max(cut, end.bottom);
    for (let below = row; ; ) {
      if (below <= cut) throw new StoreError("CORRUPT", `log row ${below} is damaged or missing`);
      const [next] = await this.#reader.read(below, 1);
      if (!next || next.number < lowest) return undefined;
      const head = decodeHeadIfSound(next);
      if (head?.incarnation === end.incarnation) return head;
      below = next.number;
    }
  }

  /** The texts `from` to `to - 1` of a commit in fragments; `""` for a blank text and for a text with a missing piece. */
  async #joinTexts(fragments: readonly Fragment[], from: number, to: number): Promise<string[]> {
    const length = Math.max(0, to - from);
    const needed = fragments.filter(([, first, end]) => first < to && from < end);
    await this.#readAll(needed.map(([number]) => number));
    const texts = Array<string>(length).fill("");
    const missing = new Set<number>();
    for (const [number, first, end] of needed) {
      const pieces = this.#reader.known(number)?.texts ?? [];
      for (let index = Math.max(from, first); index < Math.min(to, end); index++) {
        const piece = pieces[index - first] ?? "";
        if (piece !== "") texts[index - from] += piece;
        else {
          this.#isLost(number);
          missing.add(index - from);
        }
      }
    }
    for (const index of missing) texts[index] = "";
    return texts;
  }

  async #textAt(spots: readonly Spot[]): Promise<string> {
    return await this.#joined(spots.length === 1 ? spots : spots.slice(1));
  }

  async #joined(spots: readonly Spot[]): Promise<string> {
    await this.#readAll(spots.map(([row]) => row));
    const pieces = spots.map(([row, at]) => {
      const piece = this.#reader.known(row)?.texts[at] ?? "";
      if (piece === "") this.#isLost(row);
      return piece;
    });
    return pieces.includes("") ? "" : pieces.join("");
  }

  /** Whether what is missing in a row is missing permanently. Otherwise another attempt is needed. */
  #isLost(row: number): boolean {
    const isLost = this.#reader.wasReadBefore(row);
    this.isWhole &&= isLost;
    return isLost;
  }

  /** Reads rows that were not read yet, many with one request, because fragments were inserted one after the other. */
  async #readAll(rows: readonly number[]): Promise<void> {
    const lowest = rows.reduce((low, row) => Math.min(low, row), Number.POSITIVE_INFINITY);
    for (const row of rows.toSorted((one, other) => other - one)) {
      if (this.#reader.known(row)) continue;
      await this.#reader.read(row + 1, Math.min(PAGE_ROWS, row - lowest + 1));
    }
  }

  /** Reads the rows of the pinned messages and the metadata together with the end, if they are likely to be needed. */
  #guess(): Promise<unknown>[] {
    const { end } = this.#hints;
    if (!end) return [];
    const { limit } = this.#request;
    const bounds = boundsOf(end);
    const rows = [
      ...pinnedIn(end, SequenceBounds.selectRange(bounds, this.#request)).map(
        ([, spots]) => spots.at(-1)?.[0],
      ),
      ...(end.metadata && this.#request.metadata ? [end.metadata.at(-1)?.[0]] : []),
    ];
    const isFar = (row: number | undefined) =>
      row !== undefined && row <= end.number - Math.min(limit, PAGE_ROWS) && !this.#reader.known(row);
    return [...new Set(rows)].filter(isFar).map((row) => this.#reader.row(row ?? 0, 1));
  }
}

/** The pinned messages within a range. */
function pinnedIn({ pinned, compaction }: Head, range: SequenceBounds) {
  return joined(pinned && [pinned], compaction && [compaction]).filter(([sequence]) =>
    SequenceBounds.isWithin(range, sequence),
  );
}

/** The contents of a row; undefined if its head is damaged. Most heads need not be decoded as a whole. */
function contentsOf(row: LogRow): (ContentsHead & Pick<Head, "newest">) | undefined {
  const plain = decodePlainContents(row.number, row.head);
  return plain?.kinds ? plain : decodeHeadIfSound(row);
}

/**
 * The number of rows to read for a number of messages: at least twice the average need, because too few rows cost a round
 * trip; not more, because rows of large commits are large.
 */
function rowsFor(messages: number, density: number, most: number): number {
  return Math.min(most, Math.ceil(messages * Math.min(1, 2 / density)));
}
