import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { connect } from "./client.ts";
import { makeTable } from "./table.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());
const { facts, stored } = JSON.parse(readFileSync(new URL("golden/format-1.json", import.meta.url), "utf8"));

runGolden({
  name: "PostgreSQL, format 1",
  facts,
  async load() {
    const table = await makeTable((await server).url);
    for (const row of stored)
      await table.pool.query(`INSERT INTO ${table.quoted} VALUES ($1, $2, $3, $4, $5)`, row);
    const driver = connect(table);
    return {
      driver,
      async close() {
        await driver.close();
        await table[Symbol.asyncDispose]();
      },
    };
  },
});
