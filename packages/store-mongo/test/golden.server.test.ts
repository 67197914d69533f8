import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { BSON } from "mongodb";
import { connect } from "./client.ts";
import { makeCollection } from "./collection.ts";

const server = sharedServer("mongodb");
const { facts, stored } = JSON.parse(readFileSync(new URL("golden/format-1.json", import.meta.url), "utf8"));

runGolden({
  name: "MongoDB, format 1",
  facts,
  async load() {
    const collection = makeCollection((await server).url);
    await collection.heads.insertMany(BSON.EJSON.deserialize(stored));
    const { url, database, collectionName } = collection;
    const driver = connect({ url, database, collectionName });
    return {
      driver,
      async close() {
        await driver.close();
        await collection[Symbol.asyncDispose]();
      },
    };
  },
});
