import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user } from "./messages.ts";

const ROWS = 3_000;

test("no verb reads more rows in long tables, with plans that were made when they were empty", async () => {
  // A PGlite never analyzes its tables, so it keeps these plans.
  const client = await PGlite.create();
  const stores = createPostgresStores({ client, schema: "s", maxMessages: 300, ttlMs: 1e8 });
  await stores.setup();
  const store = stores.open("own");
  const index = stores.index("list");
  const entry = { version: 0, order: 0, value: 1, expiresAt: Date.now() + 1e8 };
  await index.insert({ key: "own", id: "1" }, entry);
  let number = 0;
  const verbs: Record<string, () => Promise<unknown>> = {
    commit: () => store.addMessages([user("Hello")]),
    "newest 20": () => store.listMessages({ limit: 20 }),
    listing: () => stores.listThreads({ prefix: "thread 1", limit: 20 }),
    deletion: () => stores.deleteThread(`thread ${++number}`),
    insert: () => index.insert({ key: "new", id: `${++number}` }, entry),
    update: () => index.update({ key: "own", id: "1" }, { ...entry, version: ++number }),
    "entries of a key": () => index.entriesOf("own"),
    "list of entries": () => index.list({ direction: "down", limit: 20 }),
    indexes: () => stores.listIndexes({ prefix: "index 1", limit: 20 }),
    remove: () => index.remove({ key: "new", id: `${number--}` }),
  };
  for (const run of Object.values(verbs)) for (let call = 0; call < 12; call++) await run();
  await client.exec(`INSERT INTO s.threads
      (tenant, id, life, number, tag, created_at, updated_at, first, next, userless, startless, newest_compaction, expires_at)
    SELECT '', 'thread ' || n, 'life ' || n, 1, 'tag', now(), now(), 1, 2, 1, 1, 0, now() + interval '1 h' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.messages SELECT '', 'life ' || n, 1, now(), 'user', '1u' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.operations SELECT '', 'life ' || n, sha256('x'), 1, 'tag', 'digest', now() FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.entries SELECT '', 'place ' || n, 'list', 'key', 'id', 'sort ' || n, 1, 'value', now() + interval '1 h' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.entries SELECT '', 'place of index ' || n, 'index ' || n, 'key', 'id', 'sort', 1, 'value', now() + interval '1 h' FROM generate_series(1, ${ROWS}) AS n`);
  const rowsRead = async () => {
    await client.query("SELECT pg_stat_force_next_flush()");
    const { rows } = await client.query<{ rows: number }>(
      "SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int AS rows FROM pg_stat_user_tables WHERE schemaname = 's'",
    );
    return rows[0]?.rows ?? Number.NaN;
  };
  const read: Record<string, number> = {};
  for (const [verb, run] of Object.entries(verbs)) {
    const before = await rowsRead();
    await run();
    read[verb] = (await rowsRead()) - before;
  }
  const few = Object.keys(read).filter((verb) => (read[verb] ?? 0) <= 60);
  expect(few, JSON.stringify(read)).toEqual(Object.keys(verbs));
  expect(read["newest 20"]).toBeGreaterThan(10);
  await stores.close();
  await client.close();
});
