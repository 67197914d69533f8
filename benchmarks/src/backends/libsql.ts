import { rmSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@libsql/client";
import { createLibsqlStores } from "@scrollback/store-libsql";
import type { Backend } from "../backend.ts";
import type { Contestant } from "../contestant.ts";
import { versionOf } from "../versions.ts";
import { newFolder } from "./folder.ts";
import { baseline, rawSqlite } from "./raw-sqlite.ts";

async function raw(path: string): Promise<Contestant> {
  const client = createClient({ url: `file:${path}`, concurrency: 1 });
  await client.executeMultiple("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  return await rawSqlite({
    async batch(statements) {
      const [first, ...others] = statements.map(({ sql, parameters }) => ({ sql, args: [...parameters] }));
      if (!first) return [];
      const results =
        others.length === 0 ? [await client.execute(first)] : await client.batch([first, ...others], "write");
      return results.map(({ rows }) => rows);
    },
    close: async () => client.close(),
  });
}

/** A file of libSQL. Each contestant has a file of its own. */
export async function openLibsql(): Promise<Backend> {
  const folder = newFolder("libsql");
  const memory = createClient({ url: ":memory:" });
  const [version] = (await memory.execute("SELECT sqlite_version()")).rows;
  memory.close();
  return {
    url: folder,
    definition: {
      title: "libSQL",
      versions: [
        `libSQL with SQLite ${version?.[0]}, a file, WAL, synchronous FULL`,
        `@libsql/client ${versionOf("@libsql/client")}`,
      ],
      baseline,
      raw: (path) => raw(join(path, "raw.db")),
      stores(path, maxMessages) {
        const url = `libsql:${join(path, "scrollback.db")}`;
        const stores = createLibsqlStores({ url, ...(maxMessages !== undefined && { maxMessages }) });
        return { stores, close: () => stores.close() };
      },
      remove: async () => undefined,
    },
    close: async () => rmSync(folder, { recursive: true, force: true }),
  };
}
