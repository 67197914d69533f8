import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import type { ChatMessage } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import type { Backend, Contestant } from "../backend.ts";
import { scrollback } from "../scrollback.ts";

/** Beside the benchmark rather than in the system's folder for such, which may lie in memory. */
const FOLDER = fileURLToPath(new URL("../../.results/", import.meta.url));

type Synchronous = "full" | "normal";

/** A table of messages; a commit is a transaction of an INSERT a message and the DELETE of what is too old. */
function raw(path: string, synchronous: Synchronous): { contestant: Contestant; close(): void } {
  const database = new DatabaseSync(path);
  database.exec(`
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = ${synchronous};
    PRAGMA fullfsync = ${synchronous === "full"};
    CREATE TABLE messages (
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
  const contestant: Contestant = {
    fill: async (threadId, messages) => append(threadId, messages, Number.MAX_SAFE_INTEGER),
    open: (threadId, maxMessages) => ({
      append: (messages) => async () => append(threadId, messages, maxMessages),
      newest: (count) => async () => parse(newest.all(threadId, count)).reverse(),
      all: () => async () => parse(all.all(threadId)),
    }),
    expected: (messages) => [...messages],
  };
  return { contestant, close: () => database.close() };
}

/** SQLite with this setting of `synchronous`, a database file for each contestant. */
export async function openSqlite(synchronous: Synchronous): Promise<Backend> {
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, "sqlite-"));
  const ofRaw = raw(join(folder, "raw.db"), synchronous);
  const stores = createSqliteStores({ url: `sqlite:${join(folder, "scrollback.db")}`, synchronous });
  return {
    name: `SQLite ${synchronous.toUpperCase()}`,
    versions: [
      `SQLite ${process.versions.sqlite} (node:sqlite), WAL, synchronous ${synchronous.toUpperCase()}`,
    ],
    baseline: "prepared statements: INSERTs and DELETE in a transaction; SELECT and JSON.parse",
    targets: { commit: 3, read: 3 },
    contestants: { raw: ofRaw.contestant, Scrollback: scrollback(stores, "sqlite") },
    async close() {
      ofRaw.close();
      await stores.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
