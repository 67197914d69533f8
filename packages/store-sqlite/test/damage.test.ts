import { renameSync, writeFileSync } from "node:fs";
import { expect, test, vi } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

const keyOf = "(SELECT key FROM scrollback_threads WHERE id = 'a')";
const commits = `scrollback_commits SET %s = 9223372036854775807 WHERE thread = ${keyOf}`;
const numbers = ["updated_at", "pinned", "first", "next", "userless", "newest_compaction"];

/** Damage to thread "a". */
const damages: Record<string, string> = {
  "its commits are missing": `DELETE FROM scrollback_commits WHERE thread = ${keyOf}`,
  "its newest commit is missing": `DELETE FROM scrollback_commits WHERE thread = ${keyOf} AND number = 3`,
  "its metadata is missing": `DELETE FROM scrollback_metadata WHERE thread = ${keyOf}`,
  "its metadata is damaged": `UPDATE scrollback_metadata SET text = '{"tit' WHERE thread = ${keyOf}`,
  "its messages are missing": `DELETE FROM scrollback_messages WHERE thread = ${keyOf}`,
  "a message is damaged": `UPDATE scrollback_messages SET text = '' WHERE thread = ${keyOf} AND sequence = 1`,
  "a sequence number is damaged": `UPDATE scrollback_messages SET sequence = -9223372036854775807 WHERE thread = ${keyOf} AND sequence = 1`,
  "its expiry is damaged": "UPDATE scrollback_threads SET expires_at = 9223372036854775807 WHERE id = 'a'",
  ...Object.fromEntries(
    numbers.map((name) => [`${name} is damaged`, `UPDATE ${commits.replace("%s", name)}`]),
  ),
};

for (const [what, sql] of Object.entries(damages)) {
  test(`C21 a thread is deleted and usable again if ${what}`, async () => {
    await using stores = createSqliteStores({ url: scratch.url });
    await stores.open("b").addMessages([user("b")]);
    await stores.open("a").commit({ append: users(3, "private"), metadata: "private" });
    for (let turn = 0; turn < 2; turn++) await stores.open("a").addMessages([user("private")]);
    scratch.exec(sql);
    await stores.deleteThread("a");
    expect(scratch.query("SELECT id FROM scrollback_threads")).toEqual([{ id: "b" }]);
    for (const table of ["commits", "messages", "metadata"])
      expect(scratch.query(`SELECT 1 FROM scrollback_${table} WHERE thread <> 1`), table).toEqual([]);
    await stores.open("a").addMessages([user("new")], { expectedRevision: null });
    expect(await stores.open("a").read()).toMatchObject({ count: 1, entries: [{ message: user("new") }] });
    expect((await stores.listThreads()).threads).toHaveLength(2);
  });
}

test("C16 a thread without commits is CORRUPT, not empty, and is reported by a listing", async () => {
  await using stores = createSqliteStores({ url: scratch.url });
  for (const id of ["a", "b"]) await stores.open(id).addMessages([user(id)]);
  scratch.exec(damages["its commits are missing"] ?? "");
  const expected = { code: "CORRUPT", message: expect.stringContaining("delete the thread") };
  expect(await failure(stores.open("a").read())).toMatchObject(expected);
  expect(await failure(stores.open("a").addMessages([user("more")]))).toMatchObject(expected);
  expect(await failure(stores.deleteThread("a", { expectedRevision: null }))).toMatchObject(expected);
  const reported: unknown[] = [];
  await using lenient = createSqliteStores({
    url: scratch.url,
    onCorruptRecord: (error) => reported.push(error.threadId),
  });
  expect((await lenient.listThreads()).threads).toMatchObject([{ threadId: "b" }]);
  expect(reported).toEqual(["a"]);
});

test.each(["first = 100", "pinned = 0", "pinned = 9, first = 9", "compaction = 1, pinned = 3", "next = -5"])(
  "C5 C16 no commit is made on impossible numbers, which reads and listings report: %s",
  async (set) => {
    const reported: unknown[] = [];
    await using stores = createSqliteStores({
      url: scratch.url,
      onCorruptRecord: ({ threadId }) => reported.push(threadId),
    });
    for (const id of ["a", "b"]) await stores.open(id).addMessages(users(3));
    scratch.exec(`UPDATE scrollback_commits SET ${set} WHERE thread = ${keyOf}`);
    const store = stores.open("a");
    for (const call of [
      () => store.read({ limit: 0 }),
      () => store.clear(),
      () => store.addMessages([user("new")]),
      () => store.commit({ drop: 1 }),
    ]) {
      const { code, message } = await failure(call());
      expect(code).toBe("CORRUPT");
      expect(message).not.toContain("integrity_check");
    }
    expect((await stores.listThreads()).threads).toMatchObject([{ threadId: "b", count: 3 }]);
    expect(reported).toEqual(["a"]);
  },
);

test("C16 a missing message hides no other one, and the thread goes on", async () => {
  const reported: unknown[] = [];
  await using stores = createSqliteStores({
    url: scratch.url,
    onCorruptRecord: ({ sequence }) => reported.push(sequence),
  });
  await stores.open("a").addMessages(users(5));
  scratch.exec(`DELETE FROM scrollback_messages WHERE thread = ${keyOf} AND sequence IN (2, 5)`);
  await stores.open("a").addMessages([user("more")]);
  const { entries } = await stores.open("a").read();
  expect(entries.map(({ sequence }) => sequence)).toEqual([1, 3, 4, 6]);
  expect(reported).toEqual([2, 5]);
  await stores.open("a").clear();
  expect(await stores.open("a").read()).toMatchObject({ entries: [], count: 0 });
});

test("a database file that is deleted or replaced while it is open is noticed within a second", async () => {
  await using stores = createSqliteStores({ url: scratch.url });
  const store = stores.open("a");
  await store.addMessages([user("a")]);
  const clock = vi.spyOn(performance, "now");
  const start = performance.now();
  clock.mockImplementation(() => start + 1_000);
  renameSync(scratch.path, `${scratch.path}-moved`);
  const expected = { code: "UNAVAILABLE", message: expect.stringContaining("deleted, moved or replaced") };
  for (const call of [
    () => store.addMessages([user("b")]),
    () => store.read(),
    () => stores.deleteThread("a"),
  ])
    expect(await failure(call())).toMatchObject(expected);
  writeFileSync(scratch.path, "another file");
  expect(await failure(store.addMessages([user("b")]))).toMatchObject(expected);
  renameSync(`${scratch.path}-moved`, scratch.path);
  expect(await store.listMessages()).toEqual([user("a")]);
  clock.mockRestore();
});
