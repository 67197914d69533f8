import type { Harness } from "@scrollback/conformance";
import Database from "better-sqlite3";
import { connectionOf } from "../src/clients/index.ts";
import { SqliteDriver } from "../src/sqlite-driver.ts";
import { harnessOf, TABLE_PREFIX } from "./harness.ts";

/** A driver that closes its client, because the suite does not know it. */
class OwnedClientDriver extends SqliteDriver {
  readonly #client: Database.Database;

  constructor(client: Database.Database) {
    super({ connection: connectionOf(client) }, TABLE_PREFIX);
    this.#client = client;
  }

  override async close(): Promise<void> {
    await super.close();
    this.#client.close();
  }
}

/** A driver on a client with the default busy timeout. Imported by child processes. */
export function connect(path: unknown): SqliteDriver {
  const client = new Database(String(path));
  client.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  return new OwnedClientDriver(client);
}

/** A harness on a separate database file, on better-sqlite3. */
export function createBetterSqlite3Harness(): Promise<Harness> {
  const openRaw = (path: string) => new Database(path);
  return harnessOf({ connect, openRaw, module: new URL(import.meta.url) });
}
