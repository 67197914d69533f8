import { PostgresChatMessageHistory } from "@langchain/community/stores/message/postgres";
import { PostgresStore } from "@mastra/pg";
import { createPostgresStores } from "@scrollback/store-postgres";
import { Client, Pool, type QueryConfig } from "pg";
import type { Location } from "../backend.ts";
import { Bulk, overridden } from "../bulk.ts";
import { langChain } from "../langchain.ts";
import { mastra } from "../mastra.ts";
import { scrollback, scrollbackLog } from "../scrollback.ts";
import { versionOf } from "../versions.ts";
import type { Definition } from "./network.ts";
import { HEAD, type RawLog, type RawRow, rawLog } from "./raw-log.ts";

const INSERTS_AT_ONCE = 1_000;

/** One row per commit, of the same size as Scrollback's, by prepared statements; a read is one range from the end. */
function rawTable(pool: Pool, table: string): RawLog {
  const insertOf = ({ threadId, number, texts }: RawRow): QueryConfig => ({
    name: "insert",
    text: `INSERT INTO ${table} VALUES ($1, $2, $3, $4)`,
    values: [threadId, number, HEAD, texts.join("\n")],
  });
  const text = `SELECT number, head, content FROM ${table} WHERE stream = $1 AND number < $2 ORDER BY number DESC LIMIT $3`;
  return {
    insert: (row) => pool.query(insertOf(row)),
    insertMany: (rows) => pool.query(manyRows(rows.map(insertOf))),
    async read(threadId, limit) {
      const values = [threadId, Number.MAX_SAFE_INTEGER, limit];
      const { rows } = await pool.query({ name: "select", text, values });
      return rows.map(({ content }) => String(content).split("\n"));
    },
    close: () => pool.end(),
  };
}

/** Merges statements that insert one row each into one statement. */
function manyRows(inserts: readonly QueryConfig[]): QueryConfig {
  const width = inserts[0]?.values?.length ?? 0;
  const groups = inserts.map(
    (_, row) =>
      `(${Array.from({ length: width }, (_, column) => `$${row * width + column + 1}`).join(", ")})`,
  );
  // A function, because a dollar has a special meaning in a replacement text.
  const text = (inserts[0]?.text ?? "").replace(/\(\$1[^)]*\)/, () => groups.join(", "));
  return { text, values: inserts.flatMap(({ values }) => values ?? []) };
}

/** A pool that opens as many connections as there are concurrent calls: one, unless many writers share it. */
function poolOf(url: string): Pool {
  return new Pool({ connectionString: url, max: 8, idleTimeoutMillis: 0 });
}

/** A PostgreSQL. Each contestant has a separate pool. */
export function definePostgres({ url, product, version, run }: Location): Definition {
  const name = `bench_${run}`;
  const numbers = new Map<string, number>();
  const tableName = `${name}_scrollback`;
  const onServer = async (use: (pool: Pool) => Promise<unknown>) => {
    const pool = poolOf(url);
    await use(pool);
    await pool.end();
  };
  return {
    key: "postgres",
    title: "PostgreSQL",
    versions: [
      `${product} ${version}, synchronous_commit on`,
      `pg ${versionOf("pg")}`,
      `LangChain.js: @langchain/community ${versionOf("@langchain/community")}, @langchain/core ${versionOf("@langchain/core")}; threads of up to 10,000, as it reads each session whole`,
      `Mastra: @mastra/memory ${versionOf("@mastra/memory")}, @mastra/pg ${versionOf("@mastra/pg")}; threads of up to 1,000; calls and results of tools as text`,
    ],
    baseline: "a prepared INSERT of a row of the same bytes; a prepared SELECT from the end and JSON.parse",
    connect: {
      raw: async (url) => rawLog(rawTable(poolOf(url), `${name}_raw`), numbers),
      async Scrollback(url) {
        const pool = poolOf(url);
        const contestant = scrollback(createPostgresStores({ client: pool, tableName }), "postgres", () =>
          pool.end(),
        );
        return scrollbackLog(contestant, async () => {
          const sending = new Client({ connectionString: url });
          await sending.connect();
          const bulk = new Bulk<QueryConfig>(INSERTS_AT_ONCE, (inserts) => sending.query(manyRows(inserts)));
          const client = overridden(sending, {
            async query(query: QueryConfig) {
              if (query.text.startsWith("INSERT")) {
                await bulk.add(query);
                return { rows: [], rowCount: 1 };
              }
              bulk.assertFlushed();
              return await sending.query(query);
            },
          });
          const stores = createPostgresStores({ client, tableName });
          return { stores, flush: () => bulk.flush(), close: () => sending.end() };
        });
      },
      async "LangChain.js"(url) {
        const pool = poolOf(url);
        const historyOf = (sessionId: string) =>
          new PostgresChatMessageHistory({ pool, tableName: `${name}_langchain`, sessionId });
        return langChain(historyOf, { longest: 10_000, close: () => pool.end() });
      },
      async Mastra(url) {
        const pool = poolOf(url);
        const storage = new PostgresStore({ id: name, pool, schemaName: `${name}_mastra` });
        return await mastra(storage, () => pool.end());
      },
    },
    prepare: () =>
      onServer(async (pool) => {
        await pool.query(
          `CREATE TABLE ${name}_raw (stream text COLLATE "C", number bigint, head text, content text, PRIMARY KEY (stream, number))`,
        );
        await createPostgresStores({ client: pool, tableName }).setup();
      }),
    remove: () =>
      onServer(async (pool) => {
        for (const one of ["scrollback", "langchain", "raw"])
          await pool.query(`DROP TABLE IF EXISTS ${name}_${one}`);
        await pool.query(`DROP SCHEMA IF EXISTS ${name}_mastra CASCADE`);
      }),
  };
}
