import { StoreError } from "../errors.ts";
import type { Extent } from "../trimming.ts";
import { type HeadFields, problemOf } from "./head-fields.ts";
import type { LogRow } from "./record-log.ts";

/** Rows `from` to `to`, inclusive. */
export type RowRange = readonly [from: number, to: number];

/** Content that nobody sees any more: whole rows, the texts `from` to `to - 1` of a row, or the parts of a token. */
export type Discard = RowRange | readonly [row: number, from: number, to: number] | string;

/** Where a text lies, and how many texts its row has. */
export interface TextPlace {
  readonly row: number;
  readonly index: number;
  readonly count: number;
}

/** Texts that lie in a stream of their own, as they are too large for one row. */
export interface Parts {
  readonly token: string;
  /** How many pieces each row of that stream holds. */
  readonly rows: readonly number[];
  /** How many pieces a text was cut into, where it is not one: by index. */
  readonly pieces: Readonly<Record<string, number>>;
}

/** How far rows are from being deleted by the backend, in a thread that expires. Milliseconds since the epoch. */
export interface Lease {
  /** No row that matters is deleted before. */
  readonly until: number;
  /** The renewal under way: rows below `cursor` are safe until `next`. */
  readonly cursor: number;
  readonly next: number;
}

/** What a thread is after a row. */
export interface ThreadEnd {
  readonly extent: Extent;
  /** The row that holds the message `extent.first`; where there is none, the row of the last commit that dropped. */
  readonly firstRow: number;
  /** The last row that dropped messages from the end; 0 for none. */
  readonly cut: number;
  readonly pinnedAt?: TextPlace | undefined;
  readonly metadataAt?: TextPlace | undefined;
  /** Milliseconds since the epoch. */
  readonly expiresAt?: number | undefined;
  /** The latest expiry that any row of this epoch tells of; Infinity where one tells of none. */
  readonly latest: number;
  readonly lease?: Lease | undefined;
  /** To be blanked. */
  readonly discarded: readonly Discard[];
  /** Blanked; their keys are still needed. */
  readonly spent: readonly RowRange[];
  /** Tokens of parts that a commit under way will show, each with the commit count when it was announced. */
  readonly staged: readonly (readonly [token: string, n: number])[];
  /** Whether any row of this thread has parts. */
  readonly hasParts: boolean;
}

/** A row's head, read. */
export interface LogHead {
  readonly number: number;
  /** Tells this row from any other that might have had its number. */
  readonly token: string;
  /** The row that this one was built on; number 0 for none. */
  readonly base: { readonly number: number; readonly token: string };
  readonly epoch: string;
  /** Commits of this epoch so far; 0 while a thread is only being staged. */
  readonly n: number;
  /** What was committed; absent on a row that only announces parts. */
  readonly commit?: LogCommit | undefined;
  readonly end: ThreadEnd;
}

export interface LogCommit {
  readonly operationId: string;
  readonly digest: string;
  /** The sequence number of the first appended message. */
  readonly start: number;
  /** The kinds of the appended messages, a letter each. */
  readonly kinds: string;
  /** The row that holds the message before `start`, where rows in between were dropped; 0: there is none. */
  readonly previous?: number | undefined;
  /** Where the texts are, unless in this row: the messages, then the metadata that it sets. */
  readonly parts?: Parts | undefined;
}

const FORMAT_VERSION = 1;

/** Writes a head as compact JSON; what is absent or empty is left out. */
export function formatHead({ token, base, epoch, n, commit, end }: LogHead): string {
  const { pinned, first, next } = end.extent;
  return JSON.stringify({
    v: FORMAT_VERSION,
    t: token,
    b: base.number === 0 ? undefined : [base.number, base.token],
    e: epoch,
    n,
    o: commit?.operationId,
    d: commit?.digest,
    s: commit?.start,
    k: commit?.kinds || undefined,
    p: commit?.previous,
    q: commit?.parts,
    x: pinned === null ? [first, next] : [first, next, pinned],
    r: end.firstRow,
    c: end.cut || undefined,
    l: formatPlace(end.pinnedAt),
    m: formatPlace(end.metadataAt),
    X: end.expiresAt,
    Y: end.latest === end.expiresAt || end.latest === Number.POSITIVE_INFINITY ? undefined : end.latest,
    Z: end.expiresAt !== undefined && end.latest === Number.POSITIVE_INFINITY ? 1 : undefined,
    L: end.lease && [end.lease.until, end.lease.cursor, end.lease.next],
    D: end.discarded.length > 0 ? end.discarded : undefined,
    S: end.spent.length > 0 ? end.spent : undefined,
    G: end.staged.length > 0 ? end.staged : undefined,
    P: end.hasParts ? 1 : undefined,
  });
}

function formatPlace(place: TextPlace | undefined): readonly number[] | undefined {
  return place && [place.row, place.index, place.count];
}

function parsePlace(place: readonly [number, number, number] | undefined): TextPlace | undefined {
  return place && { row: place[0], index: place[1], count: place[2] };
}

/** Reads a head back. @throws StoreError `CORRUPT` for one that cannot be read or is of a newer format version. */
export function parseHead(number: number, head: string): LogHead {
  const corrupt = (problem: string, cause?: unknown) =>
    new StoreError("CORRUPT", `log row ${number} cannot be read: ${problem}`, { cause });
  let fields: Record<string, unknown>;
  try {
    fields = JSON.parse(head);
  } catch (cause) {
    throw corrupt("its head is no JSON", cause);
  }
  if (fields?.v !== FORMAT_VERSION) {
    throw corrupt(
      typeof fields?.v === "number"
        ? `it has format version ${fields.v}, this package reads up to ${FORMAT_VERSION}; upgrade @scrollback/store-core`
        : "its head is not Scrollback's",
    );
  }
  const problem = problemOf(number, fields);
  if (problem !== undefined) throw corrupt(`its head ${problem}`);
  const known = fields as unknown as HeadFields;
  const { t, b = [0, ""], e, n, o, d = "", s = 0, k = "", p, q, x, r, c = 0, l, m, X, Y, Z, L } = known;
  const { D = [], S = [], G = [], P } = known;
  return {
    number,
    token: t,
    base: { number: b[0], token: b[1] },
    epoch: e,
    n,
    commit:
      o === undefined ? undefined : { operationId: o, digest: d, start: s, kinds: k, previous: p, parts: q },
    end: {
      extent: { first: x[0], next: x[1], pinned: x[2] ?? null },
      firstRow: r,
      cut: c,
      pinnedAt: parsePlace(l),
      metadataAt: parsePlace(m),
      expiresAt: X,
      latest: Z === 1 ? Number.POSITIVE_INFINITY : (Y ?? X ?? Number.POSITIVE_INFINITY),
      lease: L && { until: L[0], cursor: L[1], next: L[2] },
      discarded: D,
      spent: S,
      staged: G,
      hasParts: P === 1,
    },
  };
}

/** Reads a row's head back; undefined for one that is damaged. */
export function parseHeadIfSound({ number, head }: Pick<LogRow, "number" | "head">): LogHead | undefined {
  try {
    return parseHead(number, head);
  } catch {
    return undefined;
  }
}

/** Adds ranges to ranges: sorted, those that touch made one. */
export function mergeRanges(...ranges: readonly RowRange[]): RowRange[] {
  const merged: [number, number][] = [];
  for (const [from, to] of ranges.filter((range) => range[0] <= range[1]).sort((a, b) => a[0] - b[0])) {
    const last = merged.at(-1);
    if (last && from <= last[1] + 1) last[1] = Math.max(last[1], to);
    else merged.push([from, to]);
  }
  return merged;
}
