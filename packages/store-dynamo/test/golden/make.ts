/**
 * `node test/golden/make.ts` writes what threads of today's format look like in a table, and what was given out for them.
 * Once for each version of the format: a file that is there is never written again, as threads like these exist.
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
