import { DeleteItemCommand } from "@aws-sdk/client-dynamodb";
import { sharedServer } from "@scrollback/conformance/servers";
import { runRecordLog } from "@scrollback/record-log/conformance";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { keyOf } from "../src/item.ts";
import { watchRequests } from "./requests.ts";
import { clientOf, makeTable } from "./table.ts";

const server = sharedServer("dynamodb");

runRecordLog({
  name: "DynamoDB",
  async createLog() {
    const { url } = await server;
    const table = await makeTable(url);
    const { raw, tableName } = table;
    let requests = 0;
    return {
      connect() {
        const client = clientOf(url);
        watchRequests(client, () => requests++);
        return new DynamoRecordLog({ client, tableName, owned: true });
      },
      requestCount: () => requests,
      // Simulates the server's deletion, which is slow: DynamoDB Local deletes 20 items in 10 seconds.
      async sweep(stream) {
        const log = new DynamoRecordLog({ client: raw, tableName, owned: false });
        for (const { number, expiresAt = Infinity } of await log.read(stream, Infinity, 10_000, true)) {
          if (expiresAt > Date.now()) continue;
          await raw.send(new DeleteItemCommand({ TableName: tableName, Key: keyOf(stream, number) }));
        }
      },
      async close() {
        await table[Symbol.asyncDispose]();
      },
    };
  },
});
