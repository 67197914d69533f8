import type { ReadRequest, ThreadView } from "../driver.ts";
import { formatRevision } from "../driver.ts";
import { StoreError } from "../errors.ts";
import { countOf, type Extent, firstOf, lastOf, selectRange } from "../trimming.ts";
import { isAlive, readEnd, visibleRun } from "./log-chain.ts";
import { type LogHead, parseHead, parseHeadIfSound, type TextPlace } from "./log-record.ts";
import { readParts } from "./parts.ts";
import type { LogRow, RecordLog } from "./record-log.ts";

const PAGE_ROWS = 256;
/** A thread that lacks more messages than this is reported as a whole, not message by message. */
const MOST_MISSING = 10_000;
const NOTHING: ThreadView = Object.freeze({ revision: null, count: 0, first: 0, last: 0, entries: [] });

/** What a reader may guess before it has seen the end: saves a round trip when right, costs one request when wrong. */
export interface ReadHints {
  /** The end as a writer or reader of this process last saw it. */
  readonly end: LogHead | undefined;
  /** A row below which, as of the revision `epoch` and row `seen`, all messages before `sequence` lie. */
  readonly pageEnd: PageHint | undefined;
}

/** Where a page ended: what the next older page may begin with. */
export interface PageHint {
  readonly epoch: string;
  /** The number of the last row when the page was read. */
  readonly seen: number;
  readonly sequence: number;
  readonly row: number;
  /** How many messages its rows have on average. */
  readonly density: number;
}

/** A view, and what the next read can guess from it. */
export interface LogRead {
  readonly view: ThreadView;
  readonly end: LogHead | undefined;
  readonly page: PageHint | undefined;
}

/**
 * Reads one revision of a thread: the end, then back from it, passing over what later rows dropped. A text that should be
 * there and is blank means that a commit came between: then it starts over. Where no commit came, the text is damaged and
 * comes back as it is.
 */
export async function readThread(
  log: RecordLog,
  stream: string,
  request: ReadRequest,
  now: () => number,
  hints: ReadHints,
): Promise<LogRead> {
  for (let previous: LogHead | undefined; ; ) {
    const read = await readOnce(log, stream, request, now(), hints);
    const isSameEnd =
      previous !== undefined && read.end?.number === previous.number && read.end.token === previous.token;
    if (read.isWhole || isSameEnd) return read;
    previous = read.end;
  }
}

async function readOnce(
  log: RecordLog,
  stream: string,
  request: ReadRequest,
  now: number,
  hints: ReadHints,
): Promise<LogRead & { isWhole: boolean }> {
  const density = hints.pageEnd?.density ?? 1;
  const wanted =
    request.before === undefined ? Math.min(rowsFor(request.limit, density), rowsAtOnce(request)) + 1 : 2;
  const guesses = guess(log, stream, request, hints.end);
  const { end, rows } = await readEnd(log, stream, wanted, now);
  if (!isAlive(end, now)) return { view: NOTHING, end, page: undefined, isWhole: true };

  const { extent, pinnedAt, metadataAt } = end.end;
  const range = selectRange(extent, request);
  const walker = new RowWalker(log, stream, rows, density);
  const texts = new TextReader(log, stream);
  const start = await startOf(log, stream, end, range, hints.pageEnd);
  const walk = collectRun(walker, texts, end, range, start);
  const [pinned, metadata, found] = await Promise.all([
    range.pinned !== null ? textAt(texts, walker, guesses, pinnedAt) : undefined,
    request.metadata && metadataAt ? textAt(texts, walker, guesses, metadataAt) : undefined,
    walk,
  ]);
  const entries = found.entries;
  if (range.pinned !== null) entries.unshift({ sequence: range.pinned, record: pinned ?? "" });
  const needsMetadata = request.metadata && metadataAt !== undefined;
  const isWhole = entries.every((entry) => entry.record !== "") && (!needsMetadata || metadata !== "");
  const view = {
    revision: formatRevision(end.epoch, end.n),
    count: countOf(extent),
    first: firstOf(extent),
    last: lastOf(extent),
    entries,
    ...(needsMetadata && { metadata: metadata ?? "" }),
  };
  const page = found.row && {
    epoch: end.epoch,
    seen: end.number,
    sequence: range.first,
    row: found.row,
    density: found.density,
  };
  return { view, end, page: page || undefined, isWhole };
}

/**
 * How many rows to read for so many messages. Rows of large commits are large, so no more than are likely to be needed; at
 * least twice what is needed on average, as too few cost a round trip.
 */
function rowsFor(messages: number, density: number): number {
  return Math.min(PAGE_ROWS, Math.ceil(messages * Math.min(1, 2 / density)));
}

/** Whoever waits for more finds a few new rows, and asks often. */
function rowsAtOnce(request: ReadRequest): number {
  return request.after === undefined ? PAGE_ROWS : PAGE_ROWS / 8;
}

/** Where the walk for a range begins: at the end, or lower where it is known that nothing was dropped since. */
async function startOf(
  log: RecordLog,
  stream: string,
  end: LogHead,
  range: Extent,
  hint: PageHint | undefined,
): Promise<{ below: number; low: number }> {
  const isUsable =
    hint !== undefined && hint.epoch === end.epoch && end.end.cut <= hint.seen && hint.sequence >= range.next;
  if (isUsable) return { below: hint.row + 1, low: hint.sequence };
  const { firstRow, cut, extent } = end.end;
  // Nearly every row holds a message, so what begins a thread lies in its lowest rows.
  const guessed = firstRow + (range.next - extent.first);
  if (cut <= firstRow && range.first < range.next && guessed + PAGE_ROWS < end.number) {
    const row = (await log.read(stream, guessed + 1, 1, true))[0];
    const head = row && parseHeadIfSound(row);
    if (head?.commit && head.epoch === end.epoch && head.commit.start >= range.next) {
      return { below: head.number, low: head.commit.start };
    }
  }
  return { below: end.number + 1, low: extent.next };
}

async function collectRun(
  walker: RowWalker,
  texts: TextReader,
  end: LogHead,
  range: Extent,
  start: { below: number; low: number },
): Promise<{ entries: { sequence: number; record: string }[]; row: number | undefined; density: number }> {
  const found = new Map<number, string>();
  let { below, low } = start;
  let row: number | undefined;
  let [rows, messages] = [0, 0];
  /** The last row that is known to have dropped messages, of those not passed yet. */
  let { cut } = end.end;
  while (low > range.first && range.first < range.next) {
    const next = await walker.below(below, low - range.first);
    if (!next) break;
    // What a damaged row appended is reported as missing. What it dropped only its own head tells: what is below would be back.
    const head = next.number > cut ? parseHeadIfSound(next) : parseHead(next.number, next.head);
    below = next.number;
    if (!head) continue;
    if (head.epoch !== end.epoch) break;
    cut = head.end.cut;
    const run = visibleRun(head, range, Math.min(low, range.next));
    if (run) {
      const contents = await texts.of(next, head);
      for (let sequence = run.from; sequence < run.to; sequence++) {
        found.set(sequence, contents[sequence - run.commit.start] ?? "");
      }
      row = head.number;
      rows += 1;
      messages += run.commit.kinds.length;
    }
    if (head.commit) {
      low = Math.min(low, head.commit.start);
      if (head.commit.previous !== undefined) below = Math.min(below, head.commit.previous + 1);
    }
  }
  const length = Math.max(0, range.next - range.first);
  if (length - found.size > MOST_MISSING) {
    throw new StoreError(
      "CORRUPT",
      `log row ${end.number} tells of ${length} messages; ${length - found.size} are nowhere`,
    );
  }
  const entries = Array.from({ length }, (_, index) => {
    const sequence = range.first + index;
    return { sequence, record: found.get(sequence) ?? "" };
  });
  return { entries, row, density: messages / Math.max(1, rows) };
}

/** Reads the rows of a stream downwards, a page at a time. */
class RowWalker {
  readonly #log: RecordLog;
  readonly #stream: string;
  readonly #density: number;
  #rows: LogRow[];

  constructor(log: RecordLog, stream: string, rows: LogRow[], density: number) {
    this.#log = log;
    this.#stream = stream;
    this.#rows = rows;
    this.#density = density;
  }

  /**
   * The row with the highest number below `below`, or undefined. So many messages are wanted from there on; the first row
   * may hold the rest of another page.
   */
  async below(below: number, messages: number): Promise<LogRow | undefined> {
    const isCovered = (this.#rows[0]?.number ?? 0) >= below - 1;
    const known = isCovered ? this.#rows.find((row) => row.number < below) : undefined;
    if (known || below <= 1) return known;
    this.#rows = await this.#log.read(this.#stream, below, rowsFor(messages, this.#density) + 1, false);
    return this.#rows[0];
  }

  /** A row that was read already, by its number. */
  known(number: number): LogRow | undefined {
    return this.#rows.find((row) => row.number === number);
  }
}

/** The texts of rows, parts put together. */
class TextReader {
  readonly #log: RecordLog;
  readonly #stream: string;

  constructor(log: RecordLog, stream: string) {
    this.#log = log;
    this.#stream = stream;
  }

  async of(row: LogRow, head: LogHead): Promise<readonly string[]> {
    if (!head.commit?.parts) return row.texts;
    const count = head.commit.kinds.length + (head.end.metadataAt?.row === head.number ? 1 : 0);
    return await readParts(this.#log, this.#stream, head.commit.parts, count);
  }

  async at(place: TextPlace, known: LogRow | undefined): Promise<string> {
    const row = known ?? (await this.#log.read(this.#stream, place.row + 1, 1, false))[0];
    if (row?.number !== place.row) return "";
    const head = parseHeadIfSound(row);
    return head ? ((await this.of(row, head))[place.index] ?? "") : "";
  }
}

type Guesses = ReadonlyMap<number, Promise<LogRow | undefined>>;

/** Asks for the rows of the pinned message and the metadata beside the end, where they are likely to be needed. */
function guess(log: RecordLog, stream: string, request: ReadRequest, end: LogHead | undefined): Guesses {
  const guesses = new Map<number, Promise<LogRow | undefined>>();
  if (!end) return guesses;
  const { extent, pinnedAt, metadataAt } = end.end;
  const rowsRead = Math.min(request.limit, PAGE_ROWS);
  const places = [
    ...(pinnedAt && selectRange(extent, request).pinned !== null ? [pinnedAt] : []),
    ...(metadataAt && request.metadata ? [metadataAt] : []),
  ];
  for (const { row } of places) {
    if (row > end.number - rowsRead || guesses.has(row)) continue;
    const read = log.read(stream, row + 1, 1, false).then((rows) => rows[0]);
    // Whoever needs it sees the failure.
    read.catch(() => undefined);
    guesses.set(row, read);
  }
  return guesses;
}

async function textAt(
  texts: TextReader,
  walker: RowWalker,
  guesses: Guesses,
  place: TextPlace | undefined,
): Promise<string> {
  if (!place) return "";
  return await texts.at(place, walker.known(place.row) ?? (await guesses.get(place.row)));
}
