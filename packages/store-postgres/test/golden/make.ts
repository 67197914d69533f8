/**
 * `node test/golden/make.ts` writes threads and entries in the current layout, as stored in a schema, and the results that callers got for
 * them. It runs once per version of the layout, and never overwrites a file, because users have stored threads like these.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { connect } from "../client.ts";
import { makeSchema } from "../schema.ts";
import { TABLES } from "./tables.ts";

await using server = await startServer("postgres");
await using used = await makeSchema(server.url);
const driver = connect(used);
const facts = await writeGolden(driver);
await driver.close();
const stored: Record<string, unknown> = {};
for (const table of TABLES) {
  const { rows } = await used.pool.query(
    `SELECT to_json(t) AS row FROM ${used.quoted}.${table} t ORDER BY t`,
  );
  stored[table] = rows.map(({ row }) => row);
}
writeFileSync(new URL("layout-1.json", import.meta.url), `${JSON.stringify({ facts, stored }, null, 2)}\n`, {
  flag: "wx",
});
