import { randomUUID } from "node:crypto";
import type { Harness } from "@scrollback/conformance";
import { Pool } from "pg";
import { setupScript } from "../src/migrations.ts";
import { quote, toText } from "../src/text.ts";
import type { Namespace } from "./client.ts";

/** An unused schema, and a separate pool to inspect it. */
export interface TestSchema extends Namespace, AsyncDisposable {
  readonly pool: Pool;
  /** The quoted name for SQL. */
  readonly quoted: string;
  readonly raw: Harness["raw"];
}

export const newSchemaName = () => `suite "${randomUUID()}`;

/** Runs a query, with rows as JSON without their names. */
type Query = (text: string, values: unknown[]) => Promise<string[]>;

/** Direct access to the tables of a schema. */
export function rawAccessTo(quoted: string, query: Query): Harness["raw"] {
  const ofThread = (table: string) =>
    `SELECT m::text FROM ${quoted}.${table} m JOIN ${quoted}.threads t USING (tenant, life) WHERE t.id = $1`;
  return {
    async dump(threadId) {
      const statements = [
        `SELECT t::text FROM ${quoted}.threads t WHERE id = $1`,
        ofThread("messages"),
        ofThread("operations"),
        `SELECT d::text FROM ${quoted}.deletions d WHERE thread = sha256(convert_to($1, 'UTF8'))`,
        ...["operations", "messages"].map(
          (table) =>
            `SELECT m::text FROM ${quoted}.${table} m JOIN ${quoted}.deletions d USING (tenant, life) WHERE d.thread = sha256(convert_to($1, 'UTF8'))`,
        ),
      ];
      const rows: string[] = [];
      for (const text of statements) rows.push(...(await query(text, [toText(threadId)])));
      // The text of a row has each quote twice.
      return rows.join("\n").replaceAll('""', '"');
    },
    async dumpIndex(index) {
      return (await query(`SELECT e::text FROM ${quoted}.entries e WHERE name = $1`, [toText(index)])).join(
        "\n",
      );
    },
    async plant(threadId, sequence, { kind, createdAt, text: planted }) {
      const text = `UPDATE ${quoted}.messages m
        SET kind = $3, created_at = to_timestamp($4::float8 / 1000), text = $5 FROM ${quoted}.threads t
        WHERE t.id = $1 AND m.tenant = t.tenant AND m.life = t.life AND m.sequence = $2`;
      await query(text, [toText(threadId), sequence, kind, createdAt, toText(planted)]);
    },
  };
}

/** Makes a schema, by default with the tables and functions of the migrations. */
export async function makeSchema(url: string, define: typeof setupScript = setupScript): Promise<TestSchema> {
  const pool = new Pool({ connectionString: url, max: 2 });
  pool.on("error", () => undefined);
  const schema = newSchemaName();
  const quoted = quote(schema);
  const definition = define(schema);
  if (definition !== "") await pool.query(definition);
  return {
    url,
    schema,
    pool,
    quoted,
    raw: rawAccessTo(quoted, async (text, values) => {
      const { rows } = await pool.query<unknown[]>({ text, values, rowMode: "array" });
      return rows.map(([row]) => String(row));
    }),
    async [Symbol.asyncDispose]() {
      await pool.query(`DROP SCHEMA IF EXISTS ${quoted} CASCADE`);
      await pool.end();
    },
  };
}
