import { expect } from "vitest";
import type { DocumentDatabase, HeadsRequest } from "../database.ts";
import { comparable, newThread, page, smallHead } from "./documents.ts";
import type { DeclareTest } from "./harness.ts";

/** Characters that a database may treat as a pattern, an end or another character, or sort in another order. */
const CHARACTERS = [
  ...["%", "_", "*", "?", "[a]", "^", "$", ".", "\\", "'", '"', "`", "|", ":", "/", "{", "}", ";", "--"],
  ...["\0", "\x01", "\n", "\x1a", "\x1e", "\x7f", " ", "a", "A", "é", "e\u0301", "ß", "\ud7ff", "\ue000"],
  ...["\ufffd", "\uffff", "𐀀", "💬", "\u{10ffff}"],
];
const below = (count: number) => Math.floor(Math.random() * count);
const name = () => Array.from({ length: 1 + below(3) }, () => CHARACTERS[below(CHARACTERS.length)]).join("");

async function make(database: DocumentDatabase, names: readonly string[]): Promise<void> {
  for (const threadId of names) await database.swap({ threadId, expected: null, head: smallHead() });
}

/** The threads of all pages. `between` runs after each page. */
async function listAll(
  database: DocumentDatabase,
  { prefix, limit }: Pick<HeadsRequest, "prefix" | "limit">,
  between?: (first: string | undefined) => Promise<void>,
): Promise<string[]> {
  const names: string[] = [];
  let after: string | undefined;
  do {
    const { heads, next } = await database.list({ prefix, limit, after });
    expect(heads.length, "threads on a page").toBeLessThanOrEqual(limit);
    names.push(...heads.map(({ threadId }) => threadId));
    await between?.(heads[0]?.threadId);
    after = next;
  } while (after !== undefined);
  return names;
}

export function declareListing(test: DeclareTest): void {
  test("lists the threads whose ids begin with a prefix, of any characters, each once", async (database) => {
    const own = `${newThread()}/`;
    const all = [...new Set([...Array.from({ length: 100 }, name), "é:%".repeat(240), ""])].map(
      (end) => own + end,
    );
    await make(database, [...all, `${own.slice(0, -1)}0`, `x${own}`, own.toUpperCase()]);
    for (const end of ["", ...CHARACTERS, "a%", "\0a", "none", "a".repeat(2_000)]) {
      const listed = await listAll(database, { prefix: own + end, limit: 1_000 });
      const expected = all.filter((one) => one.startsWith(own + end));
      expect(listed.sort(), `with ${JSON.stringify(end)}`).toEqual(expected.sort());
    }
    for (const limit of [1, 2, 7])
      expect((await listAll(database, { prefix: own, limit })).sort(), `${limit} a page`).toEqual(all.sort());
  });

  test("lists heads of every kind, without a tail and pages if it likes, and no pages", async (database, harness) => {
    const prefix = newThread();
    const stored = smallHead({
      metadata: { text: "title" },
      expiresAt: Date.now() - 1,
      until: Date.now() + 1e9,
    });
    await database.swap({ threadId: `${prefix}a`, expected: null, head: stored });
    await database.swap({ threadId: `${prefix}b`, expected: null, head: smallHead({ isDead: true }) });
    await database.write(`${prefix}c`, [page("a")]);
    await make(database, [`${prefix}d`]);
    await harness.damage(`${prefix}d`);
    const { heads, next } = await database.list({ prefix, limit: 3, after: undefined });
    expect(next).toBeUndefined();
    const found = new Map(heads.map(({ threadId, head }) => [threadId.slice(prefix.length), head]));
    expect([...found.keys()].sort()).toEqual(["a", "b", "d"]);
    const listed = (one: object) => comparable({ ...one, tail: [], pages: [], operations: [] });
    expect(listed(found.get("a") ?? {})).toEqual(listed(stored));
    expect(found.get("b")?.isDead).toBe(true);
    expect(found.get("d")).toBeUndefined();
  });

  test("lists every thread that is there during the whole listing, while others are written", async (database, {
    requestCount,
  }) => {
    const prefix = newThread();
    const there = Array.from({ length: 40 }, (_, index) => `${prefix}${String(index).padStart(2, "0")}`);
    await make(database, there);
    let pages = 0;
    const before = requestCount();
    let written = 0;
    const listed = await listAll(database, { prefix, limit: 7 }, async (first) => {
      pages += 1;
      if (pages > 30) return;
      await make(database, [`${prefix}${pages}-new`, `${first}-new`]);
      written += 2;
    });
    for (const threadId of there) expect(listed).toContain(threadId);
    expect(requestCount() - before - written, "requests").toBeLessThanOrEqual(2 * pages);
  });
}
