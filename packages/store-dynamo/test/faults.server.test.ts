import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { DescribeTableCommand } from "@aws-sdk/client-dynamodb";
import { runFactory } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import type { ChatMessage } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDynamoStores, type DynamoStoreOptions } from "../src/index.ts";
import { openGateway } from "./gateway.ts";
import { user } from "./messages.ts";
import { clientOf, makeTable, secret, type TestTable } from "./table.ts";

const server = sharedServer("dynamodb");
let table: TestTable;
beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
});

/** Text that uses the given number of bytes of a row. */
const noise = (bytes: number) => randomBytes(bytes / 2).toString("hex");

describe.concurrent("a server that never replies", () => {
  test("a reply that starts and never ends is abandoned, and the request retried", async () => {
    await using gateway = await openGateway((await server).url);
    await using stores = createDynamoStores({ url: table.urlBy(gateway.url) });
    const store = stores.open();
    await store.addMessages([user("1")]);
    gateway.seen.length = 0;
    gateway.answer = () =>
      gateway.seen.length === 1 ? { status: 200, body: {}, isEndless: true } : undefined;
    const start = performance.now();
    expect(await store.listMessages()).toEqual([user("1")]);
    expect(gateway.seen).toEqual(["Query", "Query"]);
    expect(performance.now() - start).toBeLessThan(8_000);
  });

  test("a connection that is never established: the call fails within the timeout, as retryable", async () => {
    await using full = await fullListener();
    await using stores = createDynamoStores({ url: table.urlBy(full.url) });
    const start = performance.now();
    await expect(stores.open().listMessages()).rejects.toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
    });
    expect(performance.now() - start).toBeGreaterThan(4_000);
    expect(performance.now() - start).toBeLessThan(12_000);
  });
});

runFactory<DynamoStoreOptions>({
  name: "DynamoDB",
  create: createDynamoStores,
  secret,
  proxied: {
    async options(proxy) {
      return { url: table.urlBy(await proxy.forwardUrl((await server).url, 8000)) };
    },
    async handIn(proxy) {
      const client = clientOf(await proxy.forwardUrl((await server).url, 8000));
      const { tableName } = table;
      const use = () => client.send(new DescribeTableCommand({ TableName: tableName }));
      return { options: { client, tableName }, use, close: () => client.destroy() };
    },
  },
});

/** An endpoint whose connection queue is full, so that the system accepts no more connections. */
async function fullListener(): Promise<AsyncDisposable & { url: string }> {
  const program = `import { createServer } from "node:net";
const server = createServer().listen(0, "127.0.0.1", 1, () => console.log(server.address().port));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", program]);
  const port = Number(await new Promise((resolve) => child.stdout.once("data", resolve)));
  child.kill("SIGSTOP");
  const fillers = Array.from({ length: 4 }, () => connect({ host: "127.0.0.1", port }).on("error", () => {}));
  await sleep(200);
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      for (const filler of fillers) filler.destroy();
      child.kill("SIGKILL");
    },
  };
}

describe("sizes around an item's", () => {
  test("every message and every batch is stored, independent of the other content of its item", async () => {
    await using stores = createDynamoStores({ url: table.url });
    // The longest ids: in a head, an operation id of control characters needs six times its bytes.
    const threadId = crypto.randomUUID().padEnd(1_024, "x");
    const store = stores.open(threadId);
    const KIB = 1_024;
    let number = 0;
    const next = () => `${number++}`.padEnd(KIB, "\u0001");
    const sizes = [370, 374, 375, 376, 377, 383, 384, 385, 399, 400, 401, 766, 767, 768, 769].map(
      (kib) => kib * KIB,
    );
    for (const size of sizes) await store.addMessages([user(noise(size))], { operationId: next() });
    for (const count of [91, 92, 93, 500]) {
      const batch: ChatMessage[] = Array.from({ length: count }, () => user(""));
      await store.replaceMessages(batch, { operationId: next() });
      expect(await store.listMessages()).toHaveLength(count);
    }
  });
});
