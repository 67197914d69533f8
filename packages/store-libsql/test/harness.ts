import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import type { Harness } from "@scrollback/conformance";
import { DocumentDriver } from "@scrollback/documents";
import { documentHarness } from "@scrollback/documents/conformance";
import { SqliteDocuments } from "@scrollback/documents/sqlite";
import { LibsqlClient } from "../src/libsql-client.ts";
import { parseOptions } from "../src/options.ts";

const TABLE_PREFIX = "scrollback_";

/** The documents of a file. */
function documentsOf(path: string): SqliteDocuments {
  const { source, tablePrefix } = parseOptions({ url: `libsql:${path}` });
  return new SqliteDocuments(new LibsqlClient(source, tablePrefix), tablePrefix);
}

/** A driver on the file at `path`. Imported by child processes. */
export function connect(path: unknown): DocumentDriver {
  return new DocumentDriver(documentsOf(String(path)));
}

/** A harness on a separate database file. */
export async function createLibsqlHarness(): Promise<Harness> {
  const directory = mkdtempSync(join(tmpdir(), "scrollback-libsql-"));
  const path = join(directory, "chats.db");
  const documents = documentsOf(path);
  await documents.setup();
  await documents.close();
  const raw = createClient({ url: `file:${path}`, timeout: 5_000 });
  const dump = async (name: string, tables: readonly (readonly [string, string])[]) => {
    const texts: string[] = [];
    for (const [table, column] of tables) {
      const sql = `SELECT * FROM ${TABLE_PREFIX}${table} WHERE ${column} = ?`;
      const { rows } = await raw.execute({ sql, args: [name] });
      for (const row of rows) texts.push(Object.values(row).join("\n").replaceAll('\\"', '"'));
    }
    return texts.join("\n");
  };
  return documentHarness({
    server: {
      product: "libSQL",
      version: String((await raw.execute("SELECT sqlite_version()")).rows[0]?.[0]),
    },
    connect: () => documentsOf(path),
    childProcess: { module: new URL(import.meta.url), data: path },
    dump: (threadId) =>
      dump(threadId, [
        ["heads", "thread"],
        ["pages", "thread"],
      ]),
    dumpIndex: (index) => dump(index, [["entries", "name"]]),
    async close() {
      raw.close();
      rmSync(directory, { recursive: true });
    },
  });
}
