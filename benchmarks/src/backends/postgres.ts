import { randomUUID } from "node:crypto";
import { PostgresChatMessageHistory } from "@langchain/community/stores/message/postgres";
import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { createPostgresStores } from "@scrollback/store-postgres";
import { Pool } from "pg";
import type { Backend, Contestant, Contestants } from "../backend.ts";
import { toLangChain } from "../langchain.ts";
import { countRoundTrips } from "../round-trips.ts";
import { HEAD_BYTES, scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";

/** More commits than any thread has. */
const MANY = 1_000_000;

/** As many bytes as ours keeps beside the messages. */
const head = "h".repeat(HEAD_BYTES);

/**
 * A row a commit, as many bytes as ours, by prepared statements; a read is one range from the end and JSON.parse. Nothing is
 * trimmed.
 *
 * @param numbers how many commits each thread has.
 */
function raw(pool: Pool, table: string, numbers: Map<string, number>): Contestant {
  const insert = (threadId: string, messages: readonly ChatMessage[]) => {
    const number = (numbers.get(threadId) ?? 0) + 1;
    numbers.set(threadId, number);
    const content = messages.map((message) => JSON.stringify(message)).join("\n");
    const text = `INSERT INTO ${table} VALUES ($1, $2, $3, $4)`;
    return pool.query({ name: "insert", text, values: [threadId, number, head, content] });
  };
  return {
    fill: insert,
    open(threadId) {
      const text = `SELECT number, head, content FROM ${table} WHERE stream = $1 AND number < $2 ORDER BY number DESC LIMIT $3`;
      const read = async (limit: number) => {
        const values = [threadId, Number.MAX_SAFE_INTEGER, limit];
        const { rows } = await pool.query({ name: "select", text, values });
        return rows
          .reverse()
          .flatMap(({ content }) => String(content).split("\n"))
          .map((line): unknown => JSON.parse(line));
      };
      return {
        append: (messages) => () => insert(threadId, messages),
        newest: (count) => async () => (await read(count)).slice(-count),
        all: () => () => read(MANY),
      };
    },
    expected: (messages) => [...messages],
  };
}

/** LangChain.js' own history: one row a message, which a batch inserts one after the other; each read is of the whole session. */
function langChain(pool: Pool, tableName: string): Contestant {
  const historyOf = (sessionId: string) => new PostgresChatMessageHistory({ pool, tableName, sessionId });
  return {
    longest: 10_000,
    fill: (sessionId, messages) => historyOf(sessionId).addMessages(toLangChain(messages)),
    open(sessionId) {
      const history = historyOf(sessionId);
      return {
        append(messages) {
          const converted = toLangChain(messages);
          return () => history.addMessages(converted);
        },
        newest: (count) => async () => (await history.getMessages()).slice(-count),
        all: () => () => history.getMessages(),
      };
    },
    expected: (messages) => toLangChain(messages),
  };
}

/** A PostgreSQL at a URL. Each contestant has a pool of its own, of one connection, as calls are made one after the other. */
export async function openPostgres(server: {
  url: string;
  host: string;
  port: number;
  product: string;
  version: string;
}): Promise<Backend> {
  const name = `bench_${randomUUID().replaceAll("-", "")}`;
  const pools: Pool[] = [];
  const factories: StoreFactory[] = [];
  const numbers = new Map<string, number>();
  const poolOf = (url: string) => {
    const pool = new Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
    pools.push(pool);
    return pool;
  };
  const definePool = poolOf(server.url);
  const rawTable = `${name}_raw`;
  await definePool.query(
    `CREATE TABLE ${rawTable} (stream text COLLATE "C", number bigint, head text, content text, PRIMARY KEY (stream, number))`,
  );
  const connectAll = async (url: string): Promise<Contestants> => {
    const stores = createPostgresStores({ client: poolOf(url), tableName: `${name}_scrollback` });
    factories.push(stores);
    await stores.setup();
    return {
      raw: raw(poolOf(url), rawTable, numbers),
      Scrollback: scrollback(stores, "postgres"),
      "LangChain.js": langChain(poolOf(url), `${name}_langchain`),
    };
  };
  const counter = await countRoundTrips(server);
  const counted = new URL(server.url);
  counted.host = `127.0.0.1:${counter.port}`;
  return {
    name: "PostgreSQL",
    versions: [
      `${server.product} ${server.version}, synchronous_commit on`,
      `pg ${versionOf("pg")}`,
      `LangChain.js: @langchain/community ${versionOf("@langchain/community")}, @langchain/core ${versionOf("@langchain/core")}; threads of up to 10,000, as it reads each session whole`,
    ],
    baseline: "a prepared INSERT of a row of the same bytes; a prepared SELECT from the end and JSON.parse",
    targets: { commit: 1.25, read: 1.25, batchLead: 5 },
    contestants: await connectAll(server.url),
    counted: { contestants: await connectAll(counted.href), roundTrips: counter.count },
    async close() {
      for (const factory of factories) await factory.close();
      for (const one of ["scrollback", "langchain", "raw"])
        await definePool.query(`DROP TABLE IF EXISTS ${name}_${one}`);
      for (const pool of pools) await pool.end();
      await counter.close();
    },
  };
}
