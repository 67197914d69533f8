import { randomUUID } from "node:crypto";
import { PGlite } from "@electric-sql/pglite";
import { vector } from "@electric-sql/pglite-pgvector";
import { type Harness, runConformance } from "@scrollback/conformance";
import { afterAll } from "vitest";
import { parseOptions } from "../src/options.ts";
import { PostgresDriver } from "../src/postgres-driver.ts";
import { quote } from "../src/text.ts";
import { rawAccessTo } from "./schema.ts";

const client = await PGlite.create({ extensions: { vector } });
await client.exec("CREATE EXTENSION vector");
afterAll(() => client.close());
const { rows } = await client.query<{ version: string }>(
  "SELECT current_setting('server_version') AS version",
);
const server = { product: "PGlite, PostgreSQL", version: rows[0]?.version ?? "" };

async function createHarness(): Promise<Harness> {
  const schema = `suite ${randomUUID()}`;
  const driver = new PostgresDriver(parseOptions({ client, schema }).used);
  await driver.setup();
  return {
    driver,
    server,
    raw: rawAccessTo(quote(schema), async (text, values) =>
      (await client.query<unknown[]>(text, values, { rowMode: "array" })).rows.map(([row]) => String(row)),
    ),
    async close() {
      await driver.close();
      await client.exec(`DROP SCHEMA ${quote(schema)} CASCADE`);
    },
  };
}

runConformance({ name: "PGlite", createHarness });
