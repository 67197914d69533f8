/**
 * `node test/golden/make.ts` writes what threads of today's format look like in a collection, and what was given out for
 * them. Once for each version of the format: a file that is there is never written again, as threads like these exist.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { BSON } from "mongodb";
import { connect } from "../client.ts";
import { makeCollection } from "../collection.ts";

await using server = await startServer("mongodb");
await using collection = makeCollection(server.url);
const { url, database, collectionName, rows } = collection;
const driver = connect({ url, database, collectionName });
const facts = await writeGolden(driver);
await driver.close();
const stored = BSON.EJSON.serialize(await rows.find().sort({ _id: 1 }).toArray());
writeFileSync(new URL("format-1.json", import.meta.url), `${JSON.stringify({ facts, stored }, null, 2)}\n`, {
  flag: "wx",
});
