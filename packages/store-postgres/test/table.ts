import { randomUUID } from "node:crypto";
import type { LogRow } from "@scrollback/store-core";
import { Pool } from "pg";
import { type StoredRow, toContent, toRow, toText } from "../src/row.ts";
import { entriesName, qualified, tablesOf } from "../src/setup.ts";
import type { Namespace } from "./client.ts";

/** An unused table, and a separate pool to inspect it. */
export interface TestTable extends Namespace, AsyncDisposable {
  readonly pool: Pool;
  /** The quoted name for SQL. */
  readonly quoted: string;
  /** The one of the table of entries. */
  readonly entries: string;
  rows(stream: string): Promise<LogRow[]>;
  replaceTexts(stream: string, number: number, texts: readonly string[]): Promise<void>;
  /** Deletes the expired rows of a stream. */
  sweep(stream: string): Promise<void>;
}

export const newTableName = () => `suite-${randomUUID()}`;

/** The adapter's definition of both tables. */
const definitionOf = (tableName: string) =>
  tablesOf(undefined, tableName)
    .map(({ definition }) => definition)
    .join("\n");

/** Creates the tables with the SQL of `define`; by default with the adapter's definition. */
export async function makeTable(
  url: string,
  define: (tableName: string) => string = definitionOf,
): Promise<TestTable> {
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on("error", () => undefined);
  const tableName = newTableName();
  const quoted = qualified(undefined, tableName);
  const entries = qualified(undefined, entriesName(tableName));
  const definition = define(tableName);
  if (definition !== "") await pool.query(definition);
  return {
    url,
    tableName,
    pool,
    quoted,
    entries,
    async rows(stream) {
      const text = `SELECT number, head, content, expires_at FROM ${quoted} WHERE stream = $1 ORDER BY number`;
      const { rows } = await pool.query({ text, values: [toText(stream)], rowMode: "array" });
      return rows.map((row) => toRow(row as unknown as StoredRow));
    },
    async replaceTexts(stream, number, texts) {
      const values = [toText(stream), number, toContent(texts)];
      await pool.query(`UPDATE ${quoted} SET content = $3 WHERE stream = $1 AND number = $2`, values);
    },
    async sweep(stream) {
      const values = [toText(stream), Date.now()];
      await pool.query(`DELETE FROM ${quoted} WHERE stream = $1 AND expires_at <= $2`, values);
    },
    async [Symbol.asyncDispose]() {
      await pool.query(`DROP TABLE IF EXISTS ${quoted}, ${entries}`);
      await pool.end();
    },
  };
}
