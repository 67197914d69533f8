import { expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { failure, useScratch } from "./scratch.ts";

const scratch = useScratch();

const keyOf = "(SELECT key FROM scrollback_threads WHERE id = 'a')";
const newest = `thread = ${keyOf} AND number = (SELECT max(number) FROM scrollback_commits WHERE thread = ${keyOf})`;
const ofNewest = (set: string) => `UPDATE scrollback_commits SET ${set} WHERE ${newest}`;
const copies = (sequence: string) =>
  `INSERT INTO scrollback_messages SELECT thread, ${sequence}, kind, created_at, text FROM scrollback_messages WHERE thread = ${keyOf} AND sequence = 6`;

/** Damage of thread "a", which has the messages 1 and 4 to 6: its newest commit contradicts them. */
const contradictions: Record<string, string> = {
  "the newest commit is missing": `DELETE FROM scrollback_commits WHERE ${newest}`,
  "next is too small": ofNewest("next = 5"),
  "next is negative": ofNewest("next = -5"),
  "next is larger than a number": ofNewest("next = 9223372036854775807"),
  "first is too large": ofNewest("first = 6"),
  "first is beyond next": ofNewest("first = 100"),
  "first and pinned are the same": ofNewest("pinned = 4"),
  "pinned is lost": ofNewest("pinned = NULL"),
  "pinned is 0": ofNewest("pinned = 0"),
  "compaction is before pinned": ofNewest("compaction = 1, pinned = 3"),
  "first and compaction are the same": ofNewest("compaction = 4"),
  "the number is negative": `DELETE FROM scrollback_commits WHERE thread = ${keyOf} AND NOT (${newest}); ${ofNewest("number = -5")}`,
  "the number is larger than a number": ofNewest("number = 9223372036854775807"),
  "a message follows the newest": copies("5000"),
  "a message follows at the largest number": copies("9223372036854775807"),
  "a message comes before the first": copies("-3"),
};

/** Damage that removes nothing from view, and that a commit would make worse. */
const unwritable: Record<string, string> = {
  "next is too large": ofNewest("next = 100"),
  "the newest commit dropped a message and is missing": `DELETE FROM scrollback_messages WHERE thread = ${keyOf} AND sequence = 6`,
};

async function fill(): Promise<void> {
  await using stores = createSqliteStores({ url: scratch.url, maxMessages: 4 });
  await stores.open("b").addMessages(users(2));
  const system = { role: "system", content: "private" } as const;
  await stores.open("a").commit({ append: [system, user("private")], metadata: "private" });
  for (let turn = 0; turn < 4; turn++) await stores.open("a").addMessages([user("private")]);
  expect(await stores.open("a").read()).toMatchObject({
    entries: [{ sequence: 1 }, { sequence: 4 }, { sequence: 5 }, { sequence: 6 }],
  });
}

const rows = () =>
  ["threads", "commits", "messages", "metadata"].map((table) =>
    scratch.query(
      `SELECT CAST(rowid AS TEXT) FROM scrollback_${table}`.replace(
        "rowid",
        table === "threads" ? "key" : "thread",
      ),
    ),
  );

for (const [what, sql] of Object.entries({ ...contradictions, ...unwritable })) {
  test(`C5 no commit is made on a thread if ${what}, and its deletion leaves nothing`, async () => {
    await fill();
    scratch.exec(sql);
    await using stores = createSqliteStores({ url: scratch.url });
    const store = stores.open("a");
    const before = rows();
    for (const write of [
      () => store.clear(),
      () => store.replaceMessages([user("new")]),
      () => store.addMessages([user("new")]),
      () => store.commit({ metadata: "new" }),
      () => store.commit({ drop: 1 }),
    ]) {
      const error = await failure(write());
      expect(error).toMatchObject({ code: "CORRUPT" });
      expect(error.message).not.toContain("integrity_check");
    }
    expect(rows()).toEqual(before);
    expect(await stores.open("b").addMessages([user("more")])).not.toBeNull();

    await stores.deleteThread("a");
    expect(scratch.query("SELECT id FROM scrollback_threads")).toEqual([{ id: "b" }]);
    for (const table of ["commits", "messages", "metadata"])
      expect(scratch.query(`SELECT 1 FROM scrollback_${table} WHERE thread <> 1`), table).toEqual([]);
    await store.addMessages([user("new")], { expectedRevision: null });
    expect(await store.listMessages()).toEqual([user("new")]);
  });
}

for (const [what, sql] of Object.entries(contradictions)) {
  test(`C16 reads and listings report a thread if ${what}`, async () => {
    await fill();
    scratch.exec(sql);
    const reported: unknown[] = [];
    await using stores = createSqliteStores({
      url: scratch.url,
      onCorruptRecord: ({ threadId }) => reported.push(threadId),
    });
    for (const options of [{}, { limit: 0 }, { limit: 1 }])
      expect(await failure(stores.open("a").read(options))).toMatchObject({ code: "CORRUPT" });
    expect((await stores.listThreads()).threads).toMatchObject([{ threadId: "b", count: 2 }]);
    expect(reported).toEqual(["a"]);
  });
}

test("C16 a missing message hides no other one, and a thread with its newest message goes on", async () => {
  await fill();
  scratch.exec(`DELETE FROM scrollback_messages WHERE thread = ${keyOf} AND sequence IN (1, 5)`);
  const reported: unknown[] = [];
  await using stores = createSqliteStores({
    url: scratch.url,
    onCorruptRecord: ({ sequence }) => reported.push(sequence),
  });
  await stores.open("a").addMessages([user("more")]);
  const { entries } = await stores.open("a").read();
  expect(entries.map(({ sequence }) => sequence)).toEqual([4, 6, 7]);
  expect(reported).toEqual([1, 5]);
  await stores.open("a").clear();
  expect(await stores.open("a").read()).toMatchObject({ entries: [], count: 0 });
});

test("C6 a clear leaves no message, whatever number the pinned one has", async () => {
  await fill();
  scratch.exec(ofNewest("pinned = 2"));
  await using stores = createSqliteStores({ url: scratch.url });
  expect(await failure(stores.open("a").listMessages())).toMatchObject({ code: "CORRUPT" });
  await stores.open("a").clear();
  expect(scratch.query("SELECT 1 FROM scrollback_messages WHERE thread <> 1")).toEqual([]);
});

/** Damaged keys of threads. */
const keys = {
  "the largest integer": 2n ** 63n - 1n,
  "the largest but one": 2n ** 63n - 2n,
  "the largest number": 2n ** 53n - 1n,
  "a negative number": -7n,
};

for (const [what, key] of Object.entries(keys)) {
  test(`new threads are created if the key of another one is ${what}, also after its expiry`, async () => {
    await fill();
    await using stores = createSqliteStores({ url: scratch.url });
    for (const damage of [`key = ${key}`, "expires_at = 1"]) {
      scratch.exec(`UPDATE scrollback_threads SET ${damage} WHERE id = 'a'`);
      for (let index = 0; index < 3; index++) {
        const store = stores.open(`new ${index} with ${damage}`);
        await store.addMessages([user(store.threadId)], { expectedRevision: null });
        await store.addMessages([user("more")]);
        expect(await store.listMessages()).toEqual([user(store.threadId), user("more")]);
      }
    }
    expect((await stores.listThreads()).threads).toHaveLength(7);
    expect(scratch.query("SELECT 1 FROM scrollback_threads WHERE id = 'a'")).toEqual([]);
  });
}
