import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { MongoDBSaver } from "@langchain/langgraph-checkpoint-mongodb";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { MemorySession, type Session } from "@openai/agents-core";
import { ScrollbackSaver } from "@scrollback/bridge-langgraph";
import { ScrollbackSession } from "@scrollback/bridge-openai-agents";
import { createMemoryStores, type StoreFactory } from "@scrollback/store-core";
import { createMongoStores } from "@scrollback/store-mongo";
import { createPostgresStores } from "@scrollback/store-postgres";
import { createSqliteStores } from "@scrollback/store-sqlite";
import { MongoClient } from "mongodb";
import { Pool } from "pg";
import type { FrameworkBackend } from "../figures.ts";
import type { TurnContestant } from "./contestant.ts";
import { langGraphTurns } from "./langgraph.ts";
import { openAiTurns } from "./openai-agents.ts";

/** Scrollback's stores, and their size at rest in bytes. */
interface OpenedStores {
  readonly backend: FrameworkBackend;
  readonly stores: StoreFactory;
  readonly bytes?: () => Promise<number>;
  close(): Promise<unknown>;
}

/** The contestants without a server. `folder` is for the files of one set. */
export function localContestants(folder: string): TurnContestant[] {
  const memory = () => {
    const stores = createMemoryStores();
    return { backend: "memory" as const, stores, close: () => stores.close() };
  };
  return [
    memorySaver(),
    ours("LangGraph", memory()),
    ours("LangGraph", sqlite(join(folder, "langgraph.db"))),
    memorySession(),
    ours("OpenAI Agents SDK", memory()),
    ours("OpenAI Agents SDK", sqlite(join(folder, "openai-agents.db"))),
  ];
}

/**
 * The contestants on PostgreSQL, with a pool of one connection each. `run` is the prefix of their tables: lowercase letters and
 * digits.
 */
export async function postgresContestants(url: string, run: string): Promise<TurnContestant[]> {
  return [
    await postgresSaver(url, `theirs_${run}`),
    ours("LangGraph", await postgres(url, `langgraph_${run}`)),
    ours("OpenAI Agents SDK", await postgres(url, `openai_${run}`)),
  ];
}

/** The contestants on MongoDB, each with a client of its own with the same options. `run` is the name of their databases. */
export async function mongoContestants(url: string, run: string): Promise<TurnContestant[]> {
  const clientOf = () => new MongoClient(url, { writeConcern: { w: "majority" } });
  const [client, theirs] = [clientOf(), clientOf()];
  // The same class for both, whose types come from other copies of mongodb.
  type Ours = NonNullable<Parameters<typeof createMongoStores>[0]["client"]>;
  const stores = createMongoStores({ client: client as unknown as Ours, database: `ours_${run}` });
  await stores.setup();
  type Theirs = ConstructorParameters<typeof MongoDBSaver>[0]["client"];
  const saver = new MongoDBSaver({ client: theirs as unknown as Theirs, dbName: `theirs_${run}` });
  await saver.setup();
  return [
    {
      ...{ name: "MongoDBSaver", framework: "LangGraph", backend: "MongoDB", isOurs: false },
      ...langGraphTurns(() => saver),
      close: () => theirs.close(),
    },
    ours("LangGraph", { backend: "MongoDB", stores, close: () => client.close() }),
  ];
}

function ours(
  framework: TurnContestant["framework"],
  { stores, bytes, ...opened }: OpenedStores,
): TurnContestant {
  // A server keeps one saver; it creates sessions for each request.
  const saver = new ScrollbackSaver({ stores });
  const isLangGraph = framework === "LangGraph";
  return {
    name: isLangGraph ? "ScrollbackSaver" : "ScrollbackSession",
    framework,
    backend: opened.backend,
    isOurs: true,
    ...(isLangGraph
      ? langGraphTurns(() => saver)
      : openAiTurns((sessionId) => new ScrollbackSession({ stores, sessionId }))),
    ...(bytes && { bytes }),
    async close() {
      await saver.flush();
      await opened.close();
    },
  };
}

function memorySaver(): TurnContestant {
  const saver = new MemorySaver();
  return {
    ...{ name: "MemorySaver", framework: "LangGraph", backend: "memory", isOurs: false },
    ...langGraphTurns(() => saver),
    close: async () => undefined,
  };
}

function memorySession(): TurnContestant {
  const sessions = new Map<string, Session>();
  const sessionOf = (sessionId: string) => {
    const session = sessions.get(sessionId) ?? new MemorySession({ sessionId });
    sessions.set(sessionId, session);
    return session;
  };
  return {
    ...{ name: "MemorySession", framework: "OpenAI Agents SDK", backend: "memory", isOurs: false },
    ...openAiTurns(sessionOf),
    close: async () => undefined,
  };
}

async function postgresSaver(url: string, schema: string): Promise<TurnContestant> {
  const pool = poolOf(url);
  const saver = new PostgresSaver(pool, undefined, { schema });
  await saver.setup();
  return {
    ...{ name: "PostgresSaver", framework: "LangGraph", backend: "PostgreSQL", isOurs: false },
    ...langGraphTurns(() => saver),
    bytes: () => bytesOf(pool, schema),
    close: () => pool.end(),
  };
}

async function postgres(url: string, schema: string): Promise<OpenedStores> {
  const pool = poolOf(url);
  const stores = createPostgresStores({ client: pool, schema });
  await stores.setup();
  return {
    ...{ backend: "PostgreSQL", stores },
    bytes: () => bytesOf(pool, schema),
    close: () => pool.end(),
  };
}

function sqlite(path: string): OpenedStores {
  const stores = createSqliteStores({ url: `sqlite:${path}`, synchronous: "normal" });
  return {
    ...{ backend: "SQLite", stores },
    async bytes() {
      using database = new DatabaseSync(path);
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      return statSync(path).size;
    },
    close: () => stores.close(),
  };
}

/** The size of a schema's tables with their indexes and TOAST data. */
async function bytesOf(pool: Pool, schema: string): Promise<number> {
  const { rows } = await pool.query(
    `SELECT sum(pg_total_relation_size(pg_class.oid)) AS bytes FROM pg_class
     JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relkind = 'r' AND nspname = $1`,
    [schema],
  );
  return Number(rows[0].bytes);
}

/** A pool of one connection, because the calls of one agent are made one after the other. */
function poolOf(url: string): Pool {
  return new Pool({ connectionString: url, max: 1, idleTimeoutMillis: 0 });
}
