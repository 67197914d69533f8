import { SequenceBounds } from "@scrollback/store-core/driver";
import type { Head, Page, StoredMessage } from "../database.ts";

export const newThread = () => crypto.randomUUID();

const DAY = 24 * 60 * 60 * 1_000;
/** Midnight after `days` days: whole seconds, because a database may count those. */
export const inDays = (days: number) => (Math.ceil(Date.now() / DAY) + days) * DAY;

/** Texts that a database may change if it is careless. */
export const TEXTS = ["", "text", "ü💬\0\u0001", "$set", '{"$a":1}', " \n", "\u2028", "é e\u0301"];

export function messages(from: number, texts: readonly string[]): StoredMessage[] {
  return texts.map((text, index) => {
    const sequence = from + index;
    return { sequence, kind: "u", createdAt: sequence * 1_000, text };
  });
}

export function page(id: string, fields: Partial<Page> = {}): Page {
  return { id, messages: messages(1, ["a", "b"]), ...fields };
}

/** A head with all fields, unless `fields` says otherwise. */
export function head(fields: Partial<Head> = {}): Head {
  return {
    incarnation: "incarnation-0001",
    n: 1,
    ...SequenceBounds.EMPTY,
    tail: messages(1, TEXTS),
    pages: [
      { id: "page-1", from: 1, upto: 9, bytes: 700, kinds: "suuutcbk", cut: 3 },
      { id: "page-2", from: 9, upto: 10, bytes: 9, parts: 3 },
    ],
    pins: messages(1, ["pinned"]),
    newestCompaction: 8,
    metadata: { text: "metadata 💬" },
    operations: Uint8Array.from({ length: 40 }, (_, index) => index * 6),
    former: "incarnation-0000",
    leaving: ["page-3", "page-4-0"],
    createdAt: 1_000,
    updatedAt: 1_800_000_000_001,
    expiresAt: inDays(1),
    until: inDays(2),
    ...fields,
  };
}

/** A head without optional fields. */
export function smallHead(fields: Partial<Head> = {}): Head {
  const { metadata, former, expiresAt, until, ...rest } = head({ pages: [], pins: [], leaving: [] });
  return { ...rest, pinned: 3, compaction: 5, first: 7, next: 15, ...fields };
}

/** For comparison: a field that is undefined may be absent, and binary values may be of any class. */
export function comparable<T extends object>(value: T): unknown {
  return JSON.parse(
    JSON.stringify(value, (name, part) =>
      name === "operations" ? Buffer.from(part.data ?? Object.values(part)).toString("hex") : part,
    ),
  );
}
