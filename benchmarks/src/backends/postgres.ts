import { PostgresChatMessageHistory } from "@langchain/community/stores/message/postgres";
import { PostgresStore } from "@mastra/pg";
import type { ChatMessage } from "@scrollback/store-core";
import { createPostgresStores } from "@scrollback/store-postgres";
import { Pool } from "pg";
import type { Contestant, Location } from "../backend.ts";
import { langChain } from "../langchain.ts";
import { mastra } from "../mastra.ts";
import { scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";
import type { Definition } from "./network.ts";

const FILLED_AT_ONCE = 1_000;

/** More messages than any thread has. */
const MANY = 1_000_000;

/**
 * What an application writes for itself, by prepared statements: one that updates the thread's row and inserts a row per message, and a range
 * from the end. It neither compares revisions nor remembers operations, and does not trim.
 */
function raw(pool: Pool, schema: string): Contestant {
  const text = `WITH thread AS (
      INSERT INTO ${schema}.threads AS t (id, next, updated_at) VALUES ($1, 1 + cardinality($2::text[]), now())
      ON CONFLICT (id) DO UPDATE SET next = t.next + cardinality($2), updated_at = now() RETURNING next
    )
    INSERT INTO ${schema}.messages (thread, position, created_at, role, text)
    SELECT $1, next - cardinality($2) + place - 1, now(), role, text
    FROM thread, unnest($2, $3::text[]) WITH ORDINALITY AS m (role, text, place)`;
  const append = (threadId: string, messages: readonly ChatMessage[]) =>
    pool.query({
      name: "append",
      text,
      values: [
        threadId,
        messages.map(({ role }) => role),
        messages.map((message) => JSON.stringify(message)),
      ],
    });
  const read = async (threadId: string, limit: number): Promise<unknown[]> => {
    const { rows } = await pool.query({
      name: "read",
      text: `SELECT position, created_at, role, text FROM ${schema}.messages WHERE thread = $1 ORDER BY position DESC LIMIT $2`,
      values: [threadId, limit],
    });
    return rows.map(({ text }) => JSON.parse(text)).reverse();
  };
  return {
    async fill(threadId, messages) {
      for (let from = 0; from < messages.length; from += FILLED_AT_ONCE)
        await append(threadId, messages.slice(from, from + FILLED_AT_ONCE));
    },
    open: (threadId) => ({
      append: (messages) => () => append(threadId, messages),
      newest: (count) => () => read(threadId, count),
      all: () => () => read(threadId, MANY),
    }),
    expected: (messages) => [...messages],
    close: () => pool.end(),
  };
}

/** A pool that opens as many connections as there are concurrent calls: one, unless many writers share it. */
function poolOf(url: string): Pool {
  return new Pool({ connectionString: url, max: 8, idleTimeoutMillis: 0 });
}

/** A PostgreSQL. Each contestant has a separate pool. */
export function definePostgres({ url, product, version, run }: Location): Definition {
  const name = `bench_${run}`;
  const schema = `${name}_scrollback`;
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
    baseline:
      "a prepared statement that updates the thread's row and inserts a row per message; a prepared SELECT from the end and JSON.parse",
    connect: {
      raw: async (url) => raw(poolOf(url), `${name}_raw`),
      async Scrollback(url) {
        const pool = poolOf(url);
        return scrollback(createPostgresStores({ client: pool, schema }), "postgres", () => pool.end());
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
        await pool.query(`CREATE SCHEMA ${name}_raw;
          CREATE TABLE ${name}_raw.threads (id text PRIMARY KEY, next bigint NOT NULL, updated_at timestamptz NOT NULL);
          CREATE TABLE ${name}_raw.messages (
            thread text, position bigint, created_at timestamptz NOT NULL, role text NOT NULL, text text NOT NULL,
            PRIMARY KEY (thread, position)
          )`);
        await createPostgresStores({ client: pool, schema }).setup();
      }),
    remove: () =>
      onServer(async (pool) => {
        await pool.query(`DROP TABLE IF EXISTS ${name}_langchain`);
        for (const one of ["scrollback", "raw", "mastra"])
          await pool.query(`DROP SCHEMA IF EXISTS ${name}_${one} CASCADE`);
      }),
  };
}
