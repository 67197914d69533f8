import { DescribeTableCommand, DescribeTimeToLiveCommand } from "@aws-sdk/client-dynamodb";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { clientOf, newTableName, urlOf } from "./table.ts";

/** A server for the tests of one file, which create tables on it. */
export function tableServer() {
  const server = startServer("dynamodb");
  const raw = server.then(({ url }) => clientOf(url));
  afterAll(async () => {
    (await raw).destroy();
    await (await server).stop();
  });
  return {
    server,
    raw,
    async ownTable(): Promise<{ TableName: string; url: string }> {
      const TableName = newTableName();
      return { TableName, url: urlOf(TableName, (await server).url) };
    },
    async describeTable(TableName: string) {
      const { Table } = await (await raw).send(new DescribeTableCommand({ TableName }));
      const { TimeToLiveDescription } = await (await raw).send(new DescribeTimeToLiveCommand({ TableName }));
      return { ...Table, expiry: TimeToLiveDescription };
    },
  };
}
