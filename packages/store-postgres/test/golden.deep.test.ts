import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { connect } from "./client.ts";
import { TABLES } from "./golden/tables.ts";
import { makeSchema } from "./schema.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());
const { facts, stored } = JSON.parse(readFileSync(new URL("golden/layout-1.json", import.meta.url), "utf8"));

runGolden({
  name: "PostgreSQL, layout 1",
  facts,
  async load() {
    const used = await makeSchema((await server).url);
    for (const table of TABLES) {
      const name = `${used.quoted}.${table}`;
      const text = `INSERT INTO ${name} SELECT * FROM json_populate_recordset(NULL::${name}, $1)`;
      await used.pool.query(text, [JSON.stringify(stored[table])]);
    }
    const driver = connect(used);
    return {
      driver,
      async close() {
        await driver.close();
        await used[Symbol.asyncDispose]();
      },
    };
  },
});
