import { rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LibSQLStore } from "@mastra/libsql";
import type { ChatMessage } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import type { Backend } from "../backend.ts";
import { type Contestant, MAX_MESSAGES } from "../contestant.ts";
import { mastra } from "../mastra.ts";
import { versionOf } from "../versions.ts";
import { newFolder } from "./folder.ts";

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
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS threads (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID;`);
  const begin = database.prepare("BEGIN IMMEDIATE");
  const commit = database.prepare("COMMIT");
  const findLast = database.prepare("SELECT max(sequence) AS last FROM messages WHERE thread = ?");
  const insert = database.prepare("INSERT INTO messages VALUES (?, ?, ?)");
  const trim = database.prepare("DELETE FROM messages WHERE thread = ? AND sequence <= ?");
  const newest = database.prepare(
    "SELECT body FROM messages WHERE thread = ? ORDER BY sequence DESC LIMIT ?",
  );
  const all = database.prepare("SELECT body FROM messages WHERE thread = ? ORDER BY sequence");
  const list = database.prepare("SELECT id FROM threads ORDER BY id LIMIT ?");
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
    open: (threadId) => ({
      append: (messages) => async () => append(threadId, messages, MAX_MESSAGES),
      newest: (count) => async () => parse(newest.all(threadId, count)).reverse(),
      all: () => async () => parse(all.all(threadId)),
    }),
    async fillThreads(threadIds) {
      const insertThread = database.prepare("INSERT INTO threads VALUES (?)");
      begin.run();
      for (const id of threadIds) insertThread.run(id);
      commit.run();
    },
    list: async (count) => list.all(count).length,
    close: async () => database.close(),
  };
}

/** SQLite with this setting of `synchronous`. Each contestant has a file of its own. */
export function openSqlite(synchronous: Synchronous): Backend {
  const folder = newFolder("sqlite");
  const setting = synchronous.toUpperCase();
  const isNormal = synchronous === "normal";
  return {
    url: folder,
    definition: {
      title: `SQLite ${setting}`,
      versions: [
        `SQLite ${process.versions.sqlite} (node:sqlite), WAL, synchronous ${setting}`,
        ...(isNormal
          ? [
              `@mastra/memory ${versionOf("@mastra/memory")} on @mastra/libsql ${versionOf("@mastra/libsql")}; tool calls and results are text`,
            ]
          : []),
      ],
      baseline:
        "prepared statements: `INSERT` and `DELETE` in a transaction; `SELECT` and `JSON.parse`; a table of ids",
      raw: async (path) => raw(join(path, "raw.db"), synchronous),
      stores(path, maxMessages) {
        const stores = createSqliteStores({
          url: `sqlite:${join(path, "scrollback.db")}`,
          synchronous,
          ...(maxMessages !== undefined && { maxMessages }),
        });
        return { stores, close: () => stores.close() };
      },
      // It sets `synchronous` to NORMAL by itself.
      ...(isNormal && {
        other: "Mastra",
        async compared(path: string) {
          const storage = new LibSQLStore({ id: "benchmark", url: `file:${join(path, "mastra.db")}` });
          return await mastra(storage, () => storage.close());
        },
      }),
      remove: async () => undefined,
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
