import { PostgresChatMessageHistory } from "@langchain/community/stores/message/postgres";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { ChatMessage } from "@scrollback/store-core";
import { createPostgresStores } from "@scrollback/store-postgres";
import { Pool } from "pg";
import { type Definition, type Location, MANY } from "../backend.ts";
import { type Contestant, chunksOf } from "../contestant.ts";
import { langChain } from "../langchain.ts";
import { versionOf } from "../versions.ts";

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
      for (const chunk of chunksOf(messages, 1_000)) await append(threadId, chunk);
    },
    open: (threadId) => ({
      append: (messages) => () => append(threadId, messages),
      newest: (count) => () => read(threadId, count),
      all: () => () => read(threadId, MANY),
    }),
    fillThreads: (threadIds) =>
      pool.query(`INSERT INTO ${schema}.threads SELECT id, 1, now() FROM unnest($1::text[]) AS made (id)`, [
        threadIds,
      ]),
    async list(count) {
      const text = `SELECT id, next, updated_at FROM ${schema}.threads ORDER BY id LIMIT $1`;
      return (await pool.query({ name: "list", text, values: [count] })).rows.length;
    },
    close: () => pool.end(),
  };
}

/** A pool that opens as many connections as there are concurrent calls: one, unless many writers share it. */
function poolOf(url: string): Pool {
  return new Pool({ connectionString: url, max: 8, idleTimeoutMillis: 0 });
}

/** A PostgreSQL, with a pool for each contestant. */
export function definePostgres({ url, product, version, run }: Location): Definition {
  const name = `bench_${run}`;
  const schema = `${name}_scrollback`;
  const onServer = async (use: (pool: Pool) => Promise<unknown>) => {
    const pool = poolOf(url);
    await use(pool);
    await pool.end();
  };
  return {
    title: "PostgreSQL",
    versions: [
      `${product} ${version}, synchronous_commit on`,
      `pg ${versionOf("pg")}`,
      `@langchain/community ${versionOf("@langchain/community")}`,
      `@langchain/langgraph-checkpoint-postgres ${versionOf("@langchain/langgraph-checkpoint-postgres")}`,
    ],
    baseline:
      "a prepared statement that updates the thread's row and inserts a row a message; a prepared `SELECT` from the end and `JSON.parse`; nothing is trimmed",
    other: "LangChain.js",
    raw: async (url) => raw(poolOf(url), `${name}_raw`),
    stores(url, maxMessages) {
      const pool = poolOf(url);
      const stores = createPostgresStores({
        client: pool,
        schema,
        ...(maxMessages !== undefined && { maxMessages }),
      });
      return { stores, close: () => pool.end() };
    },
    async compared(url) {
      const pool = poolOf(url);
      const tableName = `${name}_langchain`;
      return langChain((sessionId) => new PostgresChatMessageHistory({ pool, tableName, sessionId }), {
        close: () => pool.end(),
      });
    },
    async saver(url) {
      const pool = poolOf(url);
      const saver = new PostgresSaver(pool, undefined, { schema: `${name}_saver` });
      await saver.setup();
      return { saver, close: () => pool.end() };
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
        for (const one of ["scrollback", "raw", "saver"])
          await pool.query(`DROP SCHEMA IF EXISTS ${name}_${one} CASCADE`);
      }),
  };
}
