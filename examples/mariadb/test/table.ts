import { randomUUID } from "node:crypto";
import { createPool, type Pool } from "mysql2/promise";
import {
  entriesDefinition,
  entriesOf,
  headsDefinition,
  pagesDefinition,
  pagesOf,
  quoted,
} from "../src/setup.ts";
import { toBytes } from "../src/statements.ts";
import type { Namespace } from "./client.ts";

/** Unused tables, and a separate pool to inspect them. */
export interface TestTable extends Namespace, AsyncDisposable {
  readonly pool: Pool;
  /** Everything that is stored of a thread; `""` if nothing is. */
  dump(threadId: string): Promise<string>;
  /** Everything that is stored of an index. */
  dumpIndex(index: string): Promise<string>;
}

export const newTableName = () => `suite-${randomUUID()}`;

/** Creates the tables, with the adapter's definitions. */
export async function makeTable(url: string): Promise<TestTable> {
  const pool = createPool({ uri: url, connectionLimit: 2 });
  const tableName = newTableName();
  const tables = [quoted(tableName), pagesOf(tableName), entriesOf(tableName)];
  for (const definition of [headsDefinition, pagesDefinition, entriesDefinition])
    await pool.query(definition(tableName));
  const textsOf = async (columns: string, table: string | undefined, column: string, name: string) => {
    const sql = `SELECT ${columns} FROM ${table} WHERE ${column} = ?`;
    const [rows] = await pool.query({ sql, rowsAsArray: true }, [toBytes(name)]);
    return (rows as unknown[][]).map((row) => row.join("\n").replaceAll('\\"', '"'));
  };
  return {
    url,
    tableName,
    pool,
    async dump(threadId) {
      const heads = await textsOf("token, head, tail", tables[0], "thread", threadId);
      return [...heads, ...(await textsOf("id, messages", tables[1], "thread", threadId))].join("\n");
    },
    dumpIndex: async (index) => (await textsOf("*", tables[2], "name", index)).join("\n"),
    async [Symbol.asyncDispose]() {
      await pool.query(`DROP TABLE IF EXISTS ${tables.join(", ")}`);
      await pool.end();
    },
  };
}
