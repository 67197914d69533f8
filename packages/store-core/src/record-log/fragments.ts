import type { Fragment, Spot, TextRange } from "./format.ts";

/** What a text takes up in a row beyond its bytes; enough for every backend. */
const TEXT_OVERHEAD = 17;
/** The part of a row that is kept free for its head without the kinds and fragments of its commit. */
export const HEAD_BYTES = 16 * 1024;
/** The part of it that an operation id without escapes takes at most. */
const PLAIN_ID_BYTES = 1_026;
/** What one entry of a head's list of fragments takes up. */
const FRAGMENT_ENTRY_BYTES = 24;

/** The texts of a commit, or the pieces that stand for them in a fragment. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly texts: readonly string[];
}

function recordSize(text: string): number {
  return Buffer.byteLength(text) + TEXT_OVERHEAD;
}

/** Whether the texts of a commit fit one row, beside a head that names its operation. */
export function fitsRow(texts: readonly string[], maxRowBytes: number, operationId: string): boolean {
  // In JSON a control character takes six bytes.
  const escaped = Math.max(0, Buffer.byteLength(JSON.stringify(operationId)) - PLAIN_ID_BYTES);
  // One letter of the kinds each.
  return texts.reduce((sum, text) => sum + recordSize(text) + 1, HEAD_BYTES + escaped) <= maxRowBytes;
}

/** How many messages a commit can have at most, so that its row holds a placeholder for each. */
export function maxTexts(maxRowBytes: number, limit: number): number {
  return Math.min(limit, Math.floor((maxRowBytes - HEAD_BYTES) / 2 / (TEXT_OVERHEAD + 2)));
}

/** How many bytes a commit can have at most, so that its row can name all fragments. */
export function maxCommitBytes(maxRowBytes: number, limit: number): number {
  const fragments = Math.floor((maxRowBytes - HEAD_BYTES) / 2 / FRAGMENT_ENTRY_BYTES);
  return Math.min(limit, Math.floor((fragments / 2) * (maxRowBytes - HEAD_BYTES)));
}

/** Cuts a text into pieces of at most `maxBytes` UTF-8 bytes, never inside a character. */
function cut(text: string, maxBytes: number): string[] {
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(bytes.length, from + maxBytes);
    // A byte 10xxxxxx continues a character.
    while (to < bytes.length && ((bytes[to] ?? 0) & 0xc0) === 0x80) to--;
    pieces.push(bytes.toString("utf8", from, to));
    from = to;
  }
  return pieces;
}

/** Lays the texts of a commit out in few rows. No row has two pieces of one text. */
export function layOut(texts: readonly string[], maxRowBytes: number): Piece[] {
  const room = maxRowBytes - HEAD_BYTES;
  const rows: { from: number; to: number; texts: string[] }[] = [];
  let free = 0;
  const add = (index: number, piece: string, startsRow: boolean) => {
    if (startsRow || recordSize(piece) > free) {
      rows.push({ from: index, to: index, texts: [] });
      free = room;
    }
    const row = rows.at(-1);
    row?.texts.push(piece);
    if (row) row.to = index + 1;
    free -= recordSize(piece);
  };
  for (const [index, text] of texts.entries()) {
    if (recordSize(text) <= room) add(index, text, false);
    else for (const piece of cut(text, room - TEXT_OVERHEAD)) add(index, piece, true);
  }
  return rows;
}

/** What a row holds, as far as its texts have to be found again. */
interface TextRow {
  readonly number: number;
  readonly fragments?: readonly Fragment[] | undefined;
}

/** Where text `index` of a row with `count` texts is: in the row itself, then in the fragments that hold its pieces. */
export function spotsOf(row: TextRow, index: number, count: number): Spot[] {
  const pieces = (row.fragments ?? []).filter(([, from, to]) => from <= index && index < to);
  return [
    [row.number, index, count],
    ...pieces.map(([number, from, to]): Spot => [number, index - from, to - from]),
  ];
}

/** The texts `from` to `to - 1` of a row, in the row itself and in its fragments. */
export function textRangesOf(row: TextRow, from: number, to: number): TextRange[] {
  const ranges: TextRange[] = [[row.number, from, to]];
  for (const [number, first, end] of row.fragments ?? []) {
    const low = Math.max(from, first);
    const high = Math.min(to, end);
    if (low < high) ranges.push([number, low - first, high - first]);
  }
  return ranges;
}
