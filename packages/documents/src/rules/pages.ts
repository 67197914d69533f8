import { SequenceBounds } from "@scrollback/store-core/driver";
import type { Head, Page, PageEntry, StoredMessage } from "../database.ts";
import { type Limits, MAX_PAGE_MESSAGES, sizeOf, sizeOfAll } from "./limits.ts";

/** Pages that were read, by id; `null`: it is missing, although its head lists it. */
export type LoadedPages = ReadonlyMap<string, Page | null>;

/** What a head has of messages where there are none. */
export const NO_CONTENT = Object.freeze({
  ...SequenceBounds.EMPTY,
  tail: Object.freeze([]),
  pages: Object.freeze([]),
  pins: Object.freeze([]),
  newestCompaction: 0,
}) satisfies Partial<Head>;

/** Thrown by a plan that must read pages first. */
export class PagesNeeded extends Error {
  readonly ids: readonly string[];
  constructor(ids: readonly string[]) {
    super("pages must be read");
    this.ids = ids;
  }
}

/** The ids of the pages of an entry. */
export function idsOf({ id, parts }: Pick<PageEntry, "id" | "parts">): string[] {
  return parts === undefined ? [id] : Array.from({ length: parts }, (_, index) => `${id}-${index}`);
}

/** Whether an entry has this message alone. */
export function isOnly({ from, upto }: PageEntry, sequence: number): boolean {
  return from === sequence && upto === sequence + 1;
}

/** The messages of an entry. One that is missing has the text `""`. @throws PagesNeeded if a page was not read. */
export function messagesOf(entry: PageEntry, loaded: LoadedPages): StoredMessage[] {
  const ids = idsOf(entry);
  const unread = ids.filter((id) => !loaded.has(id));
  if (unread.length > 0) throw new PagesNeeded(unread);
  const pages = ids.map((id) => loaded.get(id) ?? undefined);
  const { from, upto, kinds } = entry;
  const [first] = pages[0]?.messages ?? [];
  if (first && entry.parts !== undefined && pages.every((page) => page !== undefined))
    return [{ ...first, text: pages.map(({ messages }) => messages[0]?.text ?? "").join("") }];
  const found = new Map(pages[0]?.messages.map((message) => [message.sequence, message]));
  return Array.from({ length: upto - from }, (_, index) => {
    const kind = (kinds?.[index] ?? "o") as StoredMessage["kind"];
    const missing: StoredMessage = { sequence: from + index, kind, createdAt: 0, text: "" };
    return (entry.parts === undefined && found.get(from + index)) || missing;
  });
}

/** A list of messages as pages, and their entries. */
export interface LaidOut {
  readonly entries: readonly PageEntry[];
  readonly pages: readonly Page[];
}

/** Distributes consecutive messages over pages. @param newId makes an id that was never used. */
export function layOut(
  messages: readonly StoredMessage[],
  newId: () => string,
  limits: Limits,
  maxBytes = limits.page,
  maxMessages = MAX_PAGE_MESSAGES,
): LaidOut {
  const runs: StoredMessage[][] = [];
  let free = 0;
  for (const message of messages) {
    const size = sizeOf(message);
    const last = runs.at(-1);
    if (last && size <= free && last.length < maxMessages) last.push(message);
    else {
      runs.push([message]);
      free = maxBytes;
    }
    free -= size;
  }
  const pages: Page[] = [];
  const entries = runs.map((run): PageEntry => {
    const id = newId();
    const [first, last] = [run[0], run.at(-1)] as [StoredMessage, StoredMessage];
    // A damaged kind is empty.
    const kinds = run.map(({ kind }) => kind || "o").join("");
    const entry = { id, from: first.sequence, upto: last.sequence + 1, bytes: sizeOfAll(run), kinds };
    const parts = run.length === 1 ? cut(first.text, limits.part) : [];
    if (parts.length <= 1) pages.push({ id, messages: run });
    else
      for (const [index, text] of parts.entries())
        pages.push({ id: `${id}-${index}`, messages: [{ ...first, text }] });
    return parts.length <= 1 ? entry : { ...entry, parts: parts.length };
  });
  return { entries, pages };
}

/** Cuts a text into pieces of at most `maxBytes` UTF-8 bytes, never inside a character. */
function cut(text: string, maxBytes: number): string[] {
  if (text.length * 3 <= maxBytes) return [text];
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  const pieces: string[] = [];
  for (let from = 0; from < bytes.length; ) {
    let to = Math.min(bytes.length, from + maxBytes);
    // A byte 10xxxxxx continues a character.
    while (to < bytes.length && ((bytes[to] ?? 0) & 0xc0) === 0x80) to--;
    pieces.push(decoder.decode(bytes.subarray(from, to)));
    from = to;
  }
  return pieces;
}
