import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Harness } from "@scrollback/conformance";
import { SqliteDriver } from "../src/sqlite-driver.ts";
import { toStored } from "../src/statements.ts";

export const TABLE_PREFIX = "scrollback_";

/** A driver on the file at `path`. Imported by child processes. */
export function connect(path: unknown): SqliteDriver {
  return new SqliteDriver({ path: String(path), synchronous: "full" }, TABLE_PREFIX);
}

/** A harness on a separate database file, on `node:sqlite`. */
export function createSqliteHarness(): Promise<Harness> {
  const openRaw = (path: string) => new DatabaseSync(path);
  return harnessOf({ connect, openRaw, module: new URL(import.meta.url) });
}

/** A client of SQLite, as the raw access uses it. */
interface RawDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    all(...values: unknown[]): unknown[];
    run(...values: unknown[]): { changes: number | bigint };
  };
  close(): unknown;
}

/** What a harness uses of a client. All databases of one process must be of one client: two copies of SQLite lose each other's locks. */
export interface HarnessClient {
  connect(path: unknown): SqliteDriver;
  openRaw(path: string): RawDatabase;
  /** The module that exports `connect` to child processes. */
  readonly module: URL;
}

/** A harness on a separate database file. */
export async function harnessOf({ connect, openRaw, module }: HarnessClient): Promise<Harness> {
  const directory = mkdtempSync(join(tmpdir(), "scrollback-sqlite-"));
  const path = join(directory, "chats.db");
  const driver = connect(path);
  const withRaw = <T>(use: (raw: RawDatabase) => T): T => {
    const raw = openRaw(path);
    try {
      raw.exec("PRAGMA busy_timeout = 5000");
      return use(raw);
    } finally {
      raw.close();
    }
  };
  return {
    driver,
    server: { product: "SQLite", version: process.versions.sqlite ?? "unknown" },
    connect: () => connect(path),
    childProcess: { module, data: path },
    raw: {
      dump: async (threadId) => (existsSync(path) ? withRaw((raw) => dump(raw, threadId)) : ""),
      dumpIndex: async (index) => (existsSync(path) ? withRaw((raw) => dumpIndex(raw, index)) : ""),
      plant: async (threadId, sequence, planted) => withRaw((raw) => plant(raw, threadId, sequence, planted)),
    },
    async close() {
      await driver.close();
      rmSync(directory, { recursive: true });
    },
  };
}

/** The rows of a thread, and the rows without a thread: a deleted thread must not leave any. */
function dump(raw: RawDatabase, threadId: string): string {
  const others = "(SELECT key FROM scrollback_threads WHERE id <> ?)";
  const rows = ["messages", "metadata", "commits"].flatMap((table) =>
    raw
      .prepare(`SELECT * FROM ${TABLE_PREFIX}${table} WHERE thread NOT IN ${others}`)
      .all(toStored(threadId)),
  );
  return rows.map((row) => Object.values(row as object).join(" ")).join("\n");
}

function dumpIndex(raw: RawDatabase, index: string): string {
  const rows = raw.prepare(`SELECT * FROM ${TABLE_PREFIX}entries WHERE name = ?`).all(toStored(index));
  return rows.map((row) => Object.values(row as object).join(" ")).join("\n");
}

function plant(
  raw: RawDatabase,
  threadId: string,
  sequence: number,
  { kind, createdAt, text }: Parameters<Harness["raw"]["plant"]>[2],
): void {
  const { changes } = raw
    .prepare(
      `UPDATE ${TABLE_PREFIX}messages SET kind = ?, created_at = ?, text = ? WHERE sequence = ? AND thread = (SELECT key FROM ${TABLE_PREFIX}threads WHERE id = ?)`,
    )
    .run(kind, createdAt, text, sequence, toStored(threadId));
  if (changes !== 1) throw new Error(`thread ${JSON.stringify(threadId)} has no message ${sequence}`);
}
