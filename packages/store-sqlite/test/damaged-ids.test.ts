import { expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { useScratch } from "./scratch.ts";

const scratch = useScratch();

/** Damaged ids of a thread, with the id that listings show. */
const ids: Record<string, readonly [stored: string, shown: string]> = {
  "bytes that are no text": ["CAST(x'62ff' AS TEXT)", "b\ufffd"],
  "the beginning of a character": ["CAST(x'62e2' AS TEXT)", "b\ufffd"],
  "one damaged byte": ["CAST(x'e2' AS TEXT)", "\ufffd"],
  "stored as bytes without a NUL": ["CAST('b' AS BLOB)", "b"],
  "bytes with a NUL that are no text": ["x'6200ff'", "b\0\ufffd"],
  "an empty text": ["''", "\ufffd"],
  "empty bytes": ["x''", "\ufffd"],
};

for (const [what, [stored, shown]] of Object.entries(ids)) {
  test(`C16 a thread is reported by listings, and deleted by the id that they show, if its id is damaged: ${what}`, async () => {
    const reported: unknown[] = [];
    await using stores = createSqliteStores({
      url: scratch.url,
      onCorruptRecord: ({ threadId }) => reported.push(threadId),
    });
    const others = ["a", "b\u20ac", "b\0", "c", `${shown}!`, `x${shown}`];
    for (const id of ["b", ...others]) await stores.open(id).addMessages([user(id)]);
    scratch.exec(`UPDATE scrollback_threads SET id = ${stored} WHERE id = 'b'`);
    for (const limit of [1, 2, 1_000]) {
      reported.length = 0;
      const listed: string[] = [];
      for await (const { threadId } of stores.iterateThreads({ limit })) listed.push(threadId);
      expect(listed.sort()).toEqual([...others].sort());
      expect(new Set(reported), `limit ${limit}`).toEqual(new Set([shown]));
    }
    await stores.deleteThread(shown, { expectedRevision: null });
    expect(scratch.query("SELECT 1 FROM scrollback_threads")).toHaveLength(others.length + 1);
    await stores.deleteThread(shown);
    expect(scratch.query("SELECT 1 FROM scrollback_threads")).toHaveLength(others.length);
    expect(scratch.query("SELECT 1 FROM scrollback_messages")).toHaveLength(others.length);
    reported.length = 0;
    expect((await stores.listThreads()).threads).toHaveLength(others.length);
    expect(reported).toEqual([]);
  });
}

test("C9 an id with U+FFFD is an id like any other, and its thread is deleted alone", async () => {
  await using stores = createSqliteStores({ url: scratch.url });
  for (const id of ["damaged", "b\ufffd", "\ufffd"]) await stores.open(id).addMessages([user(id)]);
  scratch.exec("UPDATE scrollback_threads SET id = CAST(x'62ff' AS TEXT) WHERE id = 'damaged'");
  expect((await stores.listThreads({ prefix: "\ufffd" })).threads).toHaveLength(1);
  await stores.deleteThread("b\ufffd");
  expect(scratch.query("SELECT 1 FROM scrollback_threads WHERE id = CAST(x'62ff' AS TEXT)")).toHaveLength(1);
  await stores.deleteThread("b\ufffd");
  expect(scratch.query("SELECT id FROM scrollback_threads")).toEqual([{ id: "\ufffd" }]);
});

test("C20 several damaged ids in a row hide no thread after them, on pages of any size", async () => {
  const reported = new Set<unknown>();
  await using stores = createSqliteStores({
    url: scratch.url,
    onCorruptRecord: ({ threadId }) => reported.add(threadId),
  });
  const others = ["a", "b\u20ac", "b\u20ad", "c"];
  const damaged = Array.from({ length: 10 }, (_, index) => `damaged ${index}`);
  for (const id of [...others, ...damaged]) await stores.open(id).addMessages([user(id)]);
  for (const [index, id] of damaged.entries()) {
    const bytes = `62e2${(0x30 + index).toString(16)}`;
    scratch.exec(`UPDATE scrollback_threads SET id = CAST(x'${bytes}' AS TEXT) WHERE id = '${id}'`);
  }
  for (const limit of [1, 3, 10, 12]) {
    const listed: string[] = [];
    for (let cursor: string | undefined, pages = 0; pages === 0 || cursor !== undefined; pages++) {
      const page = await stores.listThreads({ limit, ...(cursor !== undefined && { cursor }) });
      expect(page.threads.length).toBeLessThanOrEqual(limit);
      listed.push(...page.threads.map(({ threadId }) => threadId));
      cursor = page.cursor;
    }
    expect(listed, `limit ${limit}`).toEqual(others);
    expect(reported.size).toBe(10);
    reported.clear();
  }
});
