import { randomUUID } from "node:crypto";
import type { LogRow } from "@scrollback/record-log";
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import { type StoredRow, toBytes, toContent, toRow } from "../src/row.ts";
import { entriesDefinition, entriesOf, quoted, tableDefinition } from "../src/setup.ts";
import type { Namespace } from "./client.ts";

/** An unused table, and a separate pool to inspect it. */
export interface TestTable extends Namespace, AsyncDisposable {
  readonly pool: Pool;
  rows(stream: string): Promise<LogRow[]>;
  replaceTexts(stream: string, number: number, texts: readonly string[]): Promise<void>;
  /** Everything that is stored of an index. */
  dumpIndex(index: string): Promise<string>;
  /** Deletes the expired rows of a stream. */
  sweep(stream: string): Promise<void>;
}

export const newTableName = () => `suite-${randomUUID()}`;

/** Creates the tables, with the adapter's definitions. */
export async function makeTable(url: string): Promise<TestTable> {
  const pool = createPool({ uri: url, connectionLimit: 2 });
  const tableName = newTableName();
  const [table, entries] = [quoted(tableName), entriesOf(tableName)];
  for (const definition of [tableDefinition(tableName), entriesDefinition(tableName)])
    await pool.query(definition);
  return {
    url,
    tableName,
    pool,
    async rows(stream) {
      const sql = `SELECT number, head, content, expires_at FROM ${table} WHERE stream = ? ORDER BY number`;
      const [rows] = await pool.query<RowDataPacket[]>({ sql, rowsAsArray: true }, [toBytes(stream)]);
      return rows.map((row) => toRow(row as unknown as StoredRow));
    },
    async replaceTexts(stream, number, texts) {
      const values = [toContent(texts), toBytes(stream), number];
      await pool.query(`UPDATE ${table} SET content = ? WHERE stream = ? AND number = ?`, values);
    },
    async dumpIndex(index) {
      const sql = `SELECT *, CONVERT(value USING utf8mb4) AS text FROM ${entries} WHERE name = ?`;
      return JSON.stringify((await pool.query(sql, [toBytes(index)]))[0]);
    },
    async sweep(stream) {
      const values = [toBytes(stream), Date.now()];
      await pool.query(`DELETE FROM ${table} WHERE stream = ? AND expires_at <= ?`, values);
    },
    async [Symbol.asyncDispose]() {
      await pool.query(`DROP TABLE IF EXISTS ${table}, ${entries}`);
      await pool.end();
    },
  };
}
