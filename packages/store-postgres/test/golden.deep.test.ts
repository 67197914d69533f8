import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { quote } from "../src/text.ts";
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
      const [first] = stored[table];
      if (!first) continue;
      const name = `${used.quoted}.${table}`;
      // Not the columns that the table computes.
      const columns = Object.keys(first).map(quote).join();
      const text = `INSERT INTO ${name} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${name}, $1)`;
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
