import { readFileSync } from "node:fs";
import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { runGolden } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { parseItems } from "./golden/stored.ts";
import { connect } from "./harness.ts";
import { makeTable } from "./table.ts";

const server = sharedServer("dynamodb");
const { facts, stored } = JSON.parse(readFileSync(new URL("golden/format-1.json", import.meta.url), "utf8"));

runGolden({
  name: "DynamoDB, format 1",
  facts,
  async load() {
    const table = await makeTable((await server).url);
    for (const Item of parseItems(stored)) {
      await table.raw.send(new PutItemCommand({ TableName: table.tableName, Item }));
    }
    const driver = connect(table.url);
    return {
      driver,
      async close() {
        await driver.close();
        await table[Symbol.asyncDispose]();
      },
    };
  },
});
