import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import type { SharedServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { tableDefinition } from "../src/setup.ts";
import { clientOf, newTableName, urlOf } from "./table.ts";

/** Functions of a file whose tests create tables on a server. */
export function tablesOn(server: Promise<SharedServer>) {
  const raw = server.then(({ url }) => clientOf(url));
  afterAll(async () => {
    (await raw).destroy();
  });
  return {
    raw,
    async ownTable(): Promise<{ TableName: string; url: string }> {
      const TableName = newTableName();
      return { TableName, url: urlOf(TableName, (await server).url) };
    },
    /** Creates a table without the index that listings need. */
    async createWithoutIndex(TableName: string): Promise<void> {
      const { GlobalSecondaryIndexes, AttributeDefinitions, ...definition } = tableDefinition(TableName);
      const [stream, number] = AttributeDefinitions;
      const create = { ...definition, AttributeDefinitions: [stream, number] } as CreateTableCommandInput;
      await (await raw).send(new CreateTableCommand(create));
    },
    async describeTable(TableName: string) {
      const { Table } = await (await raw).send(new DescribeTableCommand({ TableName }));
      const { TimeToLiveDescription } = await (await raw).send(new DescribeTimeToLiveCommand({ TableName }));
      return { ...Table, expiry: TimeToLiveDescription };
    },
  };
}
