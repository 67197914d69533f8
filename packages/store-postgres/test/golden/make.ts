/**
 * `node test/golden/make.ts` writes what threads of today's format look like in a table, and what was given out for them. Once
 * for each version of the format: a file that is there is never written again, as threads like these exist.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { connect } from "../client.ts";
import { makeTable } from "../table.ts";

await using server = await startServer("postgres");
await using table = await makeTable(server.url);
const driver = connect(table);
const facts = await writeGolden(driver);
await driver.close();
const { rows: stored } = await table.pool.query({
  text: `SELECT stream, number::text, head, content, expires_at::text FROM ${table.quoted} ORDER BY stream, number`,
  rowMode: "array",
});
writeFileSync(new URL("format-1.json", import.meta.url), `${JSON.stringify({ facts, stored }, null, 2)}\n`, {
  flag: "wx",
});
