import { QueryCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { DynamoDriver } from "../src/dynamo-driver.ts";
import { keyOf, messageKey } from "../src/item.ts";
import { parseOptions } from "../src/options.ts";
import { entriesName } from "../src/setup.ts";
import { watchRequests } from "./requests.ts";
import { itemsOf, makeTable, secret, type TestTable } from "./table.ts";

/** A driver on a table. Imported by child processes. */
export function connect(url: unknown): DynamoDriver {
  return open(String(url)).driver;
}

function open(url: string): { driver: DynamoDriver; requestCount: () => number } {
  const { connection } = parseOptions({ url });
  const requestCount = watchRequests(connection.client);
  return { driver: new DynamoDriver(connection), requestCount };
}

/** Returns a function that creates harnesses on a server, each with its own table. */
export function dynamoHarnesses(starting: Promise<SharedServer>): () => Promise<Harness> {
  return async () => {
    const { product, version, url: endpoint, host, port } = await starting;
    const table = await makeTable(endpoint);
    const { driver, requestCount } = open(table.url);
    const proxy = new TcpProxy();
    const faulty = table.urlBy(`http://127.0.0.1:${await proxy.forward({ host, port })}`);
    const module = new URL(import.meta.url);
    return {
      driver,
      server: { product, version },
      connect: () => connect(table.url),
      childProcess: { module, data: table.url },
      raw: rawAccess(table),
      requestCount,
      secrets: [secret],
      faults: { connect: () => connect(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await driver.close();
        await proxy.close();
        await table[Symbol.asyncDispose]();
      },
    };
  };
}

export function rawAccess(table: TestTable): Harness["raw"] {
  const { raw, tableName } = table;
  return {
    async dump(threadId) {
      const items = await itemsOf(table, threadId);
      return items.length === 0 ? "" : JSON.stringify(items);
    },
    async dumpIndex(index) {
      const { Items = [] } = await raw.send(
        new QueryCommand({
          TableName: entriesName(tableName),
          KeyConditionExpression: "i = :i",
          ExpressionAttributeValues: { ":i": { S: index } },
          ConsistentRead: true,
        }),
      );
      return Items.length === 0 ? "" : JSON.stringify(Items);
    },
    async plant(threadId, sequence, { kind, createdAt, text }) {
      await raw.send(
        new UpdateItemCommand({
          TableName: tableName,
          Key: keyOf(threadId, messageKey(sequence)),
          ConditionExpression: "attribute_exists(n)",
          UpdateExpression: "SET #kind = :kind, #at = :at, #text = :text",
          ExpressionAttributeNames: { "#kind": "kind", "#at": "at", "#text": "text" },
          ExpressionAttributeValues: {
            ":kind": { S: kind },
            ":at": { N: String(createdAt) },
            ":text": { S: text },
          },
        }),
      );
    },
  };
}
