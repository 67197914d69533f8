/**
 * `node test/golden/make.ts` writes threads in the current format, as stored in a collection, and the results that callers got
 * for them. It runs once per version of the format, and never overwrites a file, because users have stored threads like these.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { BSON } from "mongodb";
import { connect } from "../client.ts";
import { makeCollection } from "../collection.ts";

await using server = await startServer("mongodb");
await using collection = makeCollection(server.url);
const { url, database, collectionName, heads } = collection;
const driver = connect({ url, database, collectionName });
const facts = await writeGolden(driver);
await driver.close();
const stored = BSON.EJSON.serialize(await heads.find().sort({ _id: 1 }).toArray());
writeFileSync(new URL("format-1.json", import.meta.url), `${JSON.stringify({ facts, stored }, null, 2)}\n`, {
  flag: "wx",
});
