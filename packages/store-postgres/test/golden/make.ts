/**
 * `node test/golden/make.ts` writes threads in the current format, as stored in a table, and the results that callers got for
 * them. It runs once per version of the format, and never overwrites a file, because users have stored threads like these.
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
