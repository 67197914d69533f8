import { createStores } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callDamaged } from "../../../conformance-tests/src/checks/errors.ts";
import { SqliteDriver } from "../src/sqlite-driver.ts";
import { user } from "./messages.ts";
import { useScratch } from "./scratch.ts";

const scratch = useScratch();

const columns = {
  scrollback_commits: [
    "number",
    "operation",
    "digest",
    "pinned",
    "compaction",
    "first",
    "next",
    "userless",
    "startless",
    "newest_compaction",
  ],
  scrollback_threads: ["id", "incarnation", "expires_at"],
  scrollback_messages: ["sequence", "kind", "created_at", "text"],
  scrollback_metadata: ["text"],
};

/** A value as an SQL literal. */
const value = fc.oneof(
  fc.constantFrom(
    "NULL",
    "-1",
    "0",
    "1",
    "1099511627776",
    "9007199254740993",
    "9223372036854775807",
    "x'00ff'",
  ),
  fc.constantFrom(
    "''",
    "'1u'",
    "'garbage'",
    "zeroblob(9)",
    '\'1u~{"json":1e9,"meta":{"values":[["typed-array","Int8Array"]]}}\'',
  ),
  fc.integer().map(String),
  fc.string().map((text) => `'${text.replaceAll(/['\0]/g, "")}'`),
);
const column = fc.constantFrom(
  ...Object.entries(columns).flatMap(([table, names]) => names.map((name) => [table, name] as const)),
);

/** The SQL condition for the first or the last row of a thread in a table. */
function placeOf(table: string, id: string, isLast: boolean): string {
  if (table === "scrollback_threads") return `id = '${id}'`;
  const thread = `thread = (SELECT key FROM scrollback_threads WHERE id = '${id}')`;
  if (table === "scrollback_metadata") return thread;
  const key = table === "scrollback_commits" ? "number" : "sequence";
  const end = `SELECT ${isLast ? "max" : "min"}(${key}) FROM ${table} WHERE ${thread}`;
  return `${thread} AND ${key} = (${end})`;
}

test("C16 reading a thread with a damaged row succeeds or fails with CORRUPT at once, not with a backend failure", async () => {
  const settings = { maxMessages: 4 };
  const connect = () => new SqliteDriver({ path: scratch.path, synchronous: "normal" }, "scrollback_");
  let threads = 0;
  await fc.assert(
    fc.asyncProperty(column, value, fc.boolean(), async ([table, name], damage, isLast) => {
      const id = `thread ${++threads}`;
      await using first = createStores(connect(), settings);
      const store = first.open(id);
      await store.commit({ append: [{ role: "system", content: "leading" }, user("a")], metadata: "title" });
      for (const text of ["b", "c", "d", "e"]) await store.addMessages([user(text)]);
      try {
        scratch.exec(`UPDATE ${table} SET ${name} = ${damage} WHERE ${placeOf(table, id, isLast)}`);
      } catch {
        // The tables are strict, so SQLite rejects the value.
        return;
      }
      const start = performance.now();
      for (const options of [settings, { onCorruptRecord: () => {} }]) {
        await using stores = createStores(connect(), options);
        await callDamaged(stores.open(id), "CORRUPT");
      }
      expect(performance.now() - start).toBeLessThan(10_000);
    }),
    { numRuns: 150 },
  );
});
