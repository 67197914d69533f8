import { DatabaseSync } from "node:sqlite";
import type { SqliteClient, SqliteStatement } from "../../src/sqlite/client.ts";

/** A client of a database in this process's memory, whose batches are given at a later turn, and counted. */
export class TestClient implements SqliteClient {
  readonly capabilities = Object.freeze({ backend: "sqlite-documents", sharing: "driver" });
  readonly database = new DatabaseSync(":memory:");
  readonly sent: (readonly SqliteStatement[])[] = [];

  async batch(statements: readonly SqliteStatement[]) {
    await new Promise((resolve) => setImmediate(resolve));
    this.sent.push(statements);
    this.database.exec("BEGIN");
    try {
      const rows = statements.map(({ sql, parameters }) => this.database.prepare(sql).all(...parameters));
      this.database.exec("COMMIT");
      return rows;
    } catch (error) {
      this.database.exec("ROLLBACK");
      throw error;
    }
  }

  /** Everything that is stored of a thread, or of an index. */
  dump(name: string, tables: readonly (readonly [string, string])[]): string {
    const rows = tables.flatMap(([table, column]) =>
      this.database.prepare(`SELECT * FROM test_${table} WHERE ${column} = ?`).all(name),
    );
    return rows.map((row) => Object.values(row).join("\n").replaceAll('\\"', '"')).join("\n");
  }

  async close(): Promise<void> {}

  classifyError(): undefined {
    return undefined;
  }
}
