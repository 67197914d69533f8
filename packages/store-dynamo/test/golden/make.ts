/**
 * `node test/golden/make.ts` writes threads in the current format, as stored in a table, and the results that callers got for
 * them. It runs once per version of the format, and never overwrites a file, because users have stored threads like these.
 */
import { writeFileSync } from "node:fs";
import { paginateScan } from "@aws-sdk/client-dynamodb";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import type { Item } from "../../src/item.ts";
import { connect } from "../harness.ts";
import { makeTable } from "../table.ts";
import { stringifyItems } from "./stored.ts";

await using server = await startServer("dynamodb");
await using table = await makeTable(server.url);
const driver = connect(table.url);
const facts = await writeGolden(driver);
await driver.close();
const stored: Item[] = [];
const scan = { TableName: table.tableName, ConsistentRead: true };
for await (const { Items = [] } of paginateScan({ client: table.raw }, scan)) stored.push(...Items);
writeFileSync(new URL("format-1.json", import.meta.url), stringifyItems({ facts, stored }), { flag: "wx" });
