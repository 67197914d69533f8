import {
  CreateTableCommand,
  type CreateTableCommandInput,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { sharedServer } from "@scrollback/conformance/servers";
import { describe, expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import { tableDefinition } from "../src/setup.ts";
import { user } from "./messages.ts";
import { tablesOn } from "./tables-on.ts";

const { raw, ownTable, describeTable } = tablesOn(sharedServer("dynamodb"));

describe("a table of another program", () => {
  const pairs: [string, CreateTableCommandInput][] = [
    [
      "with other keys",
      {
        TableName: "",
        BillingMode: "PAY_PER_REQUEST",
        AttributeDefinitions: [{ AttributeName: "id", AttributeType: "S" }],
        KeySchema: [{ AttributeName: "id", KeyType: "HASH" }],
      },
    ],
    [
      "with keys of other types",
      {
        TableName: "",
        BillingMode: "PAY_PER_REQUEST",
        KeySchema: tableDefinition("").KeySchema,
        AttributeDefinitions: [
          { AttributeName: "thread", AttributeType: "S" },
          { AttributeName: "item", AttributeType: "N" },
        ],
      },
    ],
  ];
  test.each(pairs)(
    "%s is rejected by setup, writes and reads, and stays unchanged",
    async (_, definition) => {
      const { TableName, url } = await ownTable();
      await (await raw).send(new CreateTableCommand({ ...definition, TableName }));
      await using stores = createDynamoStores({ url });
      const refused = { code: "UNSUPPORTED", message: expect.stringContaining("other keys") };
      await expect(stores.setup()).rejects.toMatchObject(refused);
      await expect(stores.open().listMessages()).rejects.toMatchObject(refused);
      await expect(stores.open().addMessages([user("a")])).rejects.toMatchObject(refused);
      expect((await describeTable(TableName)).expiry).toMatchObject({ TimeToLiveStatus: "DISABLED" });
    },
  );

  test("that expires items by another attribute is rejected by setup", async () => {
    const { TableName, url } = await ownTable();
    await (await raw).send(new CreateTableCommand(tableDefinition(TableName)));
    const TimeToLiveSpecification = { AttributeName: "expires", Enabled: true };
    await (await raw).send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
    await using stores = createDynamoStores({ url });
    await expect(stores.setup()).rejects.toMatchObject({
      code: "UNSUPPORTED",
      message: expect.stringContaining('"expires"'),
    });
  });
});
