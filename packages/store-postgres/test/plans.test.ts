import { PGlite } from "@electric-sql/pglite";
import { expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user } from "./messages.ts";

const ROWS = 3_000;

/** The policy of the page on PostgreSQL, and tables of a tenant among many small ones. */
const TABLES = ["threads", "messages", "operations", "deletions", "entries"];
const POLICIES = `CREATE ROLE app; GRANT USAGE ON SCHEMA s TO app; GRANT ALL ON ALL TABLES IN SCHEMA s TO app;
  ${TABLES.map((table) => `ALTER TABLE s.${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY tenant ON s.${table} TO app USING (tenant = nullif(current_setting('scrollback.tenant', true), ''));`).join("\n")}`;

const isDeep = process.env.SCROLLBACK_DEEP === "1";
const first = ["with plans that were made when they were empty", false, false] as const;
/** The others in the deep plan only. */
const others = [
  ["with plans that were made when they were empty, under row-level security", false, true],
  ["with their statistics", true, false],
  ["with their statistics, under row-level security", true, true],
] as const;

test.each([first, ...(isDeep ? others : [])])(
  "no verb reads more rows in long tables, %s",
  async (_, isAnalyzed, hasPolicies) => {
    const client = await PGlite.create();
    const stores = createPostgresStores({ client, schema: "s", maxMessages: 300, ttlMs: 1e8 });
    await stores.setup();
    await client.exec("SET scrollback.tenant = 'big'");
    if (hasPolicies) await client.exec(`${POLICIES} SET ROLE app;`);
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
    const plan = async () => {
      for (const run of Object.values(verbs)) for (let call = 0; call < 12; call++) await run();
    };
    await plan();
    await client.exec(`RESET ROLE; INSERT INTO s.threads
      (tenant, id, life, number, tag, created_at, updated_at, first, next, userless, startless, newest_compaction, expires_at)
    SELECT 'big', 'thread ' || n, 'life ' || n, 1, 'tag', now(), now(), 1, 2, 1, 1, 0, now() + interval '1 h' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.messages SELECT 'big', 'life ' || n, 1, 'u', now(), '{}' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.operations SELECT 'big', 'life ' || n, sha256('x'), 1, 'tag', 'digest', now() FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.entries SELECT 'big', 'big' || chr(30) || 'place ' || n, 'list', 'key', 'id', 'sort ' || n, 1, 'value', now() + interval '1 h' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.entries SELECT 'big', 'big' || chr(30) || 'place of index ' || n, 'index ' || n, 'key', 'id', 'sort', 1, 'value', now() + interval '1 h' FROM generate_series(1, ${ROWS}) AS n;
    INSERT INTO s.entries SELECT 't' || n, 't' || n || chr(30) || 'place', 'list', 'key', 'id', 'sort', 1, 'value' FROM generate_series(1, ${ROWS}) AS n`);
    // A PGlite never analyzes its tables by itself, so it keeps the plans.
    if (isAnalyzed) await client.exec("ANALYZE");
    if (hasPolicies) await client.exec("SET ROLE app");
    await plan();
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
    // Under a policy, `left` is no condition of an index, because it is not leakproof: a list reads its index whole.
    if (hasPolicies) expect(read["list of entries"]).toBeLessThan(ROWS + 100);
    if (hasPolicies) delete verbs["list of entries"];
    const few = Object.keys(verbs).filter((verb) => (read[verb] ?? Number.NaN) <= 60);
    expect(few, JSON.stringify(read)).toEqual(Object.keys(verbs));
    expect(read["newest 20"]).toBeGreaterThan(10);
    await stores.close();
    await client.close();
  },
);
