import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { LibSQLStore } from "@mastra/libsql";
import type { ChatMessage } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import type { Backend, Connects, Contestant } from "../backend.ts";
import { mastra } from "../mastra.ts";
import { scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";

/** A folder of the benchmark, because the system's temporary folder may be in memory. */
const FOLDER = fileURLToPath(new URL("../../.results/", import.meta.url));

type Synchronous = "full" | "normal";

/** A table of messages; a commit is a transaction with one INSERT per message and the DELETE of the messages that are too old. */
function raw(path: string, synchronous: Synchronous): Contestant {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    PRAGMA fullfsync = ${synchronous === "full"};
    CREATE TABLE IF NOT EXISTS messages (
      thread TEXT NOT NULL,
      sequence INTEGER NOT NULL,
      body TEXT NOT NULL,
      PRIMARY KEY (thread, sequence)
    ) STRICT, WITHOUT ROWID;`);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const findLast = database.prepare("SELECT max(sequence) AS last FROM messages WHERE thread = ?");
  const insert = database.prepare("INSERT INTO messages VALUES (?, ?, ?)");
  const trim = database.prepare("DELETE FROM messages WHERE thread = ? AND sequence <= ?");
  const newest = database.prepare(
    "SELECT body FROM messages WHERE thread = ? ORDER BY sequence DESC LIMIT ?",
  );
  const all = database.prepare("SELECT body FROM messages WHERE thread = ? ORDER BY sequence");
  const parse = (rows: Record<string, unknown>[]) =>
    rows.map(({ body }): unknown => JSON.parse(String(body)));

  const append = (threadId: string, messages: readonly ChatMessage[], maxMessages: number) => {
    begin.run();
    let last = Number(findLast.get(threadId)?.last ?? 0);
    for (const message of messages) insert.run(threadId, ++last, JSON.stringify(message));
    trim.run(threadId, last - maxMessages);
    commit.run();
  };
  return {
    fill: async (threadId, messages) => append(threadId, messages, Number.MAX_SAFE_INTEGER),
    open: (threadId, maxMessages) => ({
      append: (messages) => async () => append(threadId, messages, maxMessages),
      newest: (count) => async () => parse(newest.all(threadId, count)).reverse(),
      all: () => async () => parse(all.all(threadId)),
    }),
    expected: (messages) => [...messages],
    close: async () => database.close(),
  };
}

/** Each contestant has a separate file in the folder of the location. */
export function connectSqlite(synchronous: Synchronous): Connects {
  return {
    raw: async (path) => raw(join(path, "raw.db"), synchronous),
    async Scrollback(path) {
      const stores = createSqliteStores({ url: `sqlite:${join(path, "scrollback.db")}`, synchronous });
      return scrollback(stores, "sqlite", () => stores.close());
    },
    // It sets `synchronous` to NORMAL by itself.
    ...(synchronous === "normal" && {
      async Mastra(path: string) {
        const storage = new LibSQLStore({ id: "benchmark", url: `file:${join(path, "mastra.db")}` });
        return await mastra(storage, () => storage.close());
      },
    }),
  };
}

/** SQLite with this setting of `synchronous`. */
export async function openSqlite(synchronous: Synchronous): Promise<Backend> {
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, "sqlite-"));
  const setting = synchronous.toUpperCase();
  const version = process.versions.sqlite ?? "of unknown version";
  const peers = `Mastra: @mastra/memory ${versionOf("@mastra/memory")}, @mastra/libsql ${versionOf("@mastra/libsql")}; threads of up to 1,000; calls and results of tools as text`;
  return {
    key: `sqlite-${synchronous}`,
    title: `SQLite ${setting}`,
    versions: [
      `SQLite ${version} (node:sqlite), WAL, synchronous ${setting}`,
      ...(synchronous === "normal" ? [peers] : []),
    ],
    baseline: "prepared statements: INSERTs and DELETE in a transaction; SELECT and JSON.parse",
    location: { product: "SQLite", version, url: folder, run: "" },
    connect: connectSqlite(synchronous),
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
