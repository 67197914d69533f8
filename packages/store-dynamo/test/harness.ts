import { UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Harness, type RawAccess, TcpProxy } from "@scrollback/conformance";
import type { RunningServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/store-core";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { keyOf } from "../src/item.ts";
import { parseOptions } from "../src/options.ts";
import { permissionFor, watchRequests } from "./requests.ts";
import { makeTable, secret, type TestTable } from "./table.ts";

/** The permissions that the drivers of {@link connect} in this process needed so far. */
export const permissions = new Set<string>();

/** A driver on a table. What a child process imports. */
export function connect(url: unknown): RecordLogDriver {
  return open(String(url)).driver;
}

function open(url: string): { driver: RecordLogDriver; requestCount: () => number } {
  const { connection } = parseOptions({ url });
  const requestCount = watchRequests(connection.client, (action) => permissions.add(permissionFor(action)));
  return { driver: new RecordLogDriver(new DynamoRecordLog(connection)), requestCount };
}

/** What makes harnesses on a server, each with a table of its own. */
export function dynamoHarnesses(starting: Promise<RunningServer>): () => Promise<Harness> {
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
  const log = new DynamoRecordLog({ client: raw, tableName, owned: false });
  const rowsOf = (threadId: string) => log.read(threadId, Number.POSITIVE_INFINITY, 1_000_000, false);
  return {
    async dump(threadId) {
      return (await rowsOf(threadId)).flatMap(({ head, texts }) => [head, ...texts]).join("\n");
    },
    async plant(threadId, sequence, record) {
      const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: false };
      const { entries } = await new RecordLogDriver(log).read({ ...whole, threadId, signal: undefined });
      const found = entries.find((entry) => entry.sequence === sequence)?.record;
      const row = (await rowsOf(threadId)).find(({ texts }) => found !== undefined && texts.includes(found));
      if (!row || found === undefined) throw new Error(`there is no message ${sequence} in ${threadId}`);
      await raw.send(
        new UpdateItemCommand({
          TableName: tableName,
          Key: keyOf(threadId, row.number),
          UpdateExpression: `SET c[${row.texts.indexOf(found)}] = :c`,
          ExpressionAttributeValues: { ":c": { B: Buffer.from(record) } },
        }),
      );
    },
  };
}
