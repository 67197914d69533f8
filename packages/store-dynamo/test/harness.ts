import { paginateScan, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { type Harness, type RawAccess, TcpProxy } from "@scrollback/conformance";
import type { RunningServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/store-core";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { keyOf, toRow } from "../src/item.ts";
import { parseOptions } from "../src/options.ts";
import { watchRequests } from "./requests.ts";
import { makeTable, secret, type TestTable } from "./table.ts";

/** The actions that this process' drivers of {@link connect} have asked for so far. */
export const actions = new Set<string>();

/** A driver on a table. What a child process imports. */
export function connect(url: unknown): RecordLogDriver {
  return open(String(url)).driver;
}

function open(url: string): { driver: RecordLogDriver; requestCount: () => number } {
  const { connection } = parseOptions({ url });
  const requestCount = watchRequests(connection.client, (action) => actions.add(action));
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
      secrets: [secret, new URL(endpoint).host],
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
  return {
    async dump(threadId) {
      const scan = {
        TableName: tableName,
        ConsistentRead: true,
        FilterExpression: "s = :t OR (begins_with(s, :p) AND contains(s, :e))",
        ExpressionAttributeValues: {
          ":t": { S: `t${threadId}` },
          ":p": { S: "p" },
          ":e": { S: `/${threadId}` },
        },
      };
      const stored: string[] = [];
      for await (const { Items = [] } of paginateScan({ client: raw }, scan)) {
        for (const item of Items) {
          const { head, texts } = toRow(item);
          if (item.s?.S?.endsWith(threadId)) stored.push(head, ...texts);
        }
      }
      return stored.join("\n");
    },
    async plant(threadId, sequence, record) {
      const log = new DynamoRecordLog({ client: raw, tableName, owned: false });
      const whole = { limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined, metadata: false };
      const { entries } = await new RecordLogDriver(log).read({ ...whole, threadId, signal: undefined });
      const found = entries.find((entry) => entry.sequence === sequence)?.record ?? "";
      const rows = await log.read(`t${threadId}`, Number.POSITIVE_INFINITY, 1_000, false);
      const row = rows.find(({ texts }) => texts.includes(found));
      if (!row) throw new Error(`there is no message ${sequence} in ${threadId}`);
      await raw.send(
        new UpdateItemCommand({
          TableName: tableName,
          Key: keyOf(`t${threadId}`, row.number),
          UpdateExpression: `SET c[${row.texts.indexOf(found)}] = :c`,
          ExpressionAttributeValues: { ":c": { B: Buffer.from(record) } },
        }),
      );
    },
  };
}
