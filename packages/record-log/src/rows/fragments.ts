import type { CommitRequest } from "@scrollback/store-core/driver";
import type { Fragment, Spot, TextRange } from "./field-types.ts";

/** The overhead of a text in a row, beyond its bytes; sufficient for every backend. */
const TEXT_OVERHEAD = 17;
/** The part of a row that is reserved for its head, without the kinds and fragments of its commit. */
export const HEAD_BYTES = 16 * 1024;
/** The maximum part of it for an operation id without escapes. */
const PLAIN_ID_BYTES = 1_026;
/** The size of one entry in a head's list of fragments. */
const FRAGMENT_ENTRY_BYTES = 24;

/** The texts of a commit, or their pieces in a fragment. */
interface Piece {
  readonly from: number;
  readonly to: number;
  readonly texts: readonly string[];
}

function recordSize(text: string): number {
  return Buffer.byteLength(text) + TEXT_OVERHEAD;
}

/** The maximum number of UTF-8 bytes for one UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;
/** The maximum size of an operation id in JSON: a control character takes six bytes. */
const MAX_ID_BYTES = 6 * 1_024;

/** Whether the texts of a commit fit into one row, together with a head that names its operation. */
export function fitsRow(texts: readonly string[], maxRowBytes: number, operationId: string): boolean {
  // Bytes are counted only if they may exceed the limit.
  let most = HEAD_BYTES + MAX_ID_BYTES;
  for (const text of texts) most += text.length * MAX_BYTES_PER_UNIT + TEXT_OVERHEAD + 1;
  if (most <= maxRowBytes) return true;
  // In JSON a control character takes six bytes.
  const escaped = Math.max(0, Buffer.byteLength(JSON.stringify(operationId)) - PLAIN_ID_BYTES);
  return HEAD_BYTES + escaped + textBytes(texts) <= maxRowBytes;
}

/** The bytes of the texts in a row, and of one letter of the kinds each. */
function textBytes(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + recordSize(text) + 1, 0);
}

/** The bytes of a commit in a row that it shares with others: its texts, and its entry in the head. */
export function sharedBytes({
  append,
  operationId,
  digest,
}: Pick<CommitRequest, "append" | "operationId" | "digest">): number {
  return Buffer.byteLength(JSON.stringify([operationId, digest])) + 1 + textBytes(append);
}

/** The maximum number of messages in a commit, so that its row has a placeholder for each. */
export function maxTexts(maxRowBytes: number, limit: number): number {
  return Math.min(limit, Math.floor((maxRowBytes - HEAD_BYTES) / 2 / (TEXT_OVERHEAD + 2)));
}

/** The maximum size of a commit in bytes, so that its row can name all fragments. */
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

/** Distributes the texts of a commit over few rows. No row has two pieces of one text. */
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

/** The fields of a row that locate its texts. */
interface TextRow {
  readonly number: number;
  readonly fragments?: readonly Fragment[] | undefined;
}

/** The locations of text `index` of a row with `count` texts: the row itself, then the fragments with its pieces. */
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
