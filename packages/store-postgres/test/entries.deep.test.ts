import { randomBytes } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { type SentQuery, watchedLog } from "./queries.ts";
import { makeTable } from "./table.ts";

const server = sharedServer("postgres");

test("entries have any names of 1,024 bytes, and are listed by the index", async () => {
  await using table = await makeTable((await server).url);
  await using stores = createPostgresStores({ url: table.url, tableName: table.tableName });
  // Random, so that the server cannot compress them.
  const name = () => randomBytes(768).toString("base64url");
  const [list, key] = [name(), name()];
  const index = stores.index(list);
  const ids = Array.from({ length: 3 }, name).sort();
  for (const id of ids) await index.insert({ key, id }, { version: 0, order: 1, value: 1 });
  expect((await index.list()).entries.map(({ id }) => id)).toEqual(ids);
  expect((await index.list({ direction: "down" })).entries.map(({ id }) => id)).toEqual(ids.toReversed());
  for (let number = 0; number < 3; number++)
    await index.insert({ key: `${number}`, id: "1" }, { version: 0, order: number, value: 1 });
  await table.pool.query(
    `INSERT INTO ${table.entries} SELECT 'p' || n, 'other' || n % 50, 'k', 'i', lpad(to_hex(n), 16, '0') || 'k' || chr(1) || 'i', 0, '', NULL FROM generate_series(1, 5000) AS n`,
  );
  await table.pool.query(`ANALYZE ${table.entries}`);
  const sent: SentQuery[] = [];
  const { log } = watchedLog(table, sent);
  for (const direction of ["up", "down"] as const)
    await log.index.listEntries({ index: "other7", direction, limit: 30, after: "1", signal: undefined });
  await log.index.listIndexes({ prefix: "other", limit: 30, cursor: undefined, signal: undefined });
  for (const { text, values } of sent) {
    const { rows } = await table.pool.query({ text: `EXPLAIN ${text}`, values: values ?? [] });
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toMatch(/_entries_order/);
    expect(plan).not.toMatch(/Seq Scan/);
  }
  await log.close();
});
