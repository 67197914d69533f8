import { QueryCommand, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Harness, type RawAccess, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/record-log";
import { recordLogAccess } from "@scrollback/record-log/internal";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { keyOf } from "../src/item.ts";
import { parseOptions } from "../src/options.ts";
import { entriesName } from "../src/setup.ts";
import { permissionFor, watchRequests } from "./requests.ts";
import { makeTable, secret, type TestTable } from "./table.ts";

/** The permissions that the drivers of {@link connect} in this process have needed so far. */
export const permissions = new Set<string>();

/** A driver on a table. Imported by child processes. */
export function connect(url: unknown): RecordLogDriver {
  return open(String(url)).driver;
}

function open(url: string): { driver: RecordLogDriver; requestCount: () => number } {
  const { connection } = parseOptions({ url });
  const requestCount = watchRequests(connection.client, (action) => permissions.add(permissionFor(action)));
  const log = new DynamoRecordLog(connection);
  return { driver: new RecordLogDriver(log), requestCount };
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

export function rawAccess({ raw, tableName }: TestTable): RawAccess {
  const connect = () => new DynamoRecordLog({ client: raw, tableName, owned: false });
  return recordLogAccess({
    connect,
    rows: (threadId) => connect().read(threadId, Number.POSITIVE_INFINITY, 1_000_000, false),
    async dumpIndex(index) {
      const { Items } = await raw.send(
        new QueryCommand({
          TableName: entriesName(tableName),
          KeyConditionExpression: "i = :i",
          ExpressionAttributeValues: { ":i": { S: index } },
          ConsistentRead: true,
        }),
      );
      return JSON.stringify(Items);
    },
    async replaceTexts(threadId, number, texts) {
      await raw.send(
        new UpdateItemCommand({
          TableName: tableName,
          Key: keyOf(threadId, number),
          UpdateExpression: "SET c = :c",
          ExpressionAttributeValues: { ":c": { L: texts.map((text) => ({ B: Buffer.from(text) })) } },
        }),
      );
    },
  });
}
