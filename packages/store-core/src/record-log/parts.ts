import type { Parts } from "./log-record.ts";
import type { LogRow, RecordLog } from "./record-log.ts";

/** What a text costs in a row beyond its bytes; ample for every backend. */
const TEXT_OVERHEAD = 16;
/** Room for a row's head: operation id, kinds, bookkeeping. */
const HEAD_BYTES = 8 * 1024;

/** The stream of a thread's log. No thread's stream is one of parts. */
export function threadStream(threadId: string): string {
  return `t${threadId}`;
}

/** The stream of parts; the thread's id stands in it so that a raw look at a thread finds them. */
export function partStream(stream: string, token: string): string {
  return `p${token}/${stream.slice(1)}`;
}

function sizeOf(text: string): number {
  return Buffer.byteLength(text) + TEXT_OVERHEAD;
}

/** Whether texts fit one row. */
export function fitsRow(texts: readonly string[], maxRowBytes: number): boolean {
  return texts.reduce((sum, text) => sum + sizeOf(text) + 1, HEAD_BYTES) <= maxRowBytes;
}

/** Cuts a text into pieces of at most `maxBytes` UTF-8 bytes, never inside a character. */
function cut(text: string, maxBytes: number): string[] {
  if (Buffer.byteLength(text) <= maxBytes) return [text];
  const bytes = Buffer.from(text);
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(bytes.length, from + maxBytes);
    // A byte 10xxxxxx goes on with a character.
    while (to < bytes.length && ((bytes[to] ?? 0) & 0xc0) === 0x80) to--;
    pieces.push(bytes.toString("utf8", from, to));
    from = to;
  }
  return pieces;
}

/** Lays texts out in as few rows of parts as they need. */
export function layOut(
  texts: readonly string[],
  token: string,
  maxRowBytes: number,
): { parts: Parts; rows: LogRow[] } {
  const room = maxRowBytes - HEAD_BYTES;
  const rows: string[][] = [];
  const pieces: Record<string, number> = {};
  let free = 0;
  texts.forEach((text, index) => {
    const cuts = cut(text, room - TEXT_OVERHEAD);
    if (cuts.length !== 1) pieces[index] = cuts.length;
    for (const piece of cuts) {
      if (rows.length === 0 || sizeOf(piece) > free) {
        rows.push([]);
        free = room;
      }
      rows.at(-1)?.push(piece);
      free -= sizeOf(piece);
    }
  });
  return {
    parts: { token, rows: rows.map((row) => row.length), pieces },
    rows: rows.map((row, index) => ({ number: index + 1, head: "", texts: row })),
  };
}

/** The pieces of the texts `from` to `to - 1`: row number and index in that row. */
export function piecesOf(parts: Parts, from: number, to: number): { row: number; index: number }[] {
  const places = parts.rows.flatMap((count, row) =>
    Array.from({ length: count }, (_, index) => ({ row: row + 1, index })),
  );
  let at = 0;
  for (let text = 0; text < from; text++) at += parts.pieces[text] ?? 1;
  let end = at;
  for (let text = from; text < to; text++) end += parts.pieces[text] ?? 1;
  return places.slice(at, end);
}

/** Reads all texts of parts; a text with a piece blanked or missing is `""`. */
export async function readParts(
  log: RecordLog,
  stream: string,
  parts: Parts,
  count: number,
): Promise<string[]> {
  const found = await log.read(
    partStream(stream, parts.token),
    Number.POSITIVE_INFINITY,
    parts.rows.length,
    false,
  );
  const rows = new Map(found.map((row) => [row.number, row.texts]));
  const pieces = parts.rows.flatMap((length, row) => {
    const texts = rows.get(row + 1) ?? [];
    return Array.from({ length }, (_, index) => texts[index] ?? "");
  });
  const texts: string[] = [];
  let at = 0;
  for (let text = 0; text < count; text++) {
    const own = pieces.slice(at, at + (parts.pieces[text] ?? 1));
    texts.push(own.includes("") ? "" : own.join(""));
    at += own.length;
  }
  return texts;
}
