import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { StoreError } from "@scrollback/store-core";
import { expect, onTestFinished, test } from "vitest";
import { createDynamoStores, type DynamoStoreOptions } from "../src/index.ts";
import { user } from "./messages.ts";
import { urlOf } from "./table.ts";

async function expectOutage(options: DynamoStoreOptions, part: string) {
  await using stores = createDynamoStores(options);
  for (const outcome of await Promise.allSettled([
    stores.open().listMessages(),
    stores.open().addMessages([user("a")]),
  ])) {
    const error: unknown = outcome.status === "rejected" ? outcome.reason : undefined;
    if (!StoreError.is(error)) throw error;
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toContain(part);
  }
}

test.concurrent("an outage names a server that nothing listens on", () =>
  expectOutage({ url: urlOf("chats", "http://127.0.0.1:1") }, "127.0.0.1:1 (ECONNREFUSED)"));

test.concurrent("an outage names an unknown server", () =>
  expectOutage({ url: urlOf("chats", "https://nohost.invalid") }, "nohost.invalid:443 (ENOTFOUND)"));

test.concurrent("an outage names the service of a region", async () => {
  const client = new DynamoDBClient({
    region: "eu-central-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    maxAttempts: 1,
    requestHandler: {
      handle: () => Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" })),
    },
  });
  await expectOutage({ client }, "dynamodb.eu-central-1.amazonaws.com:443 (ECONNRESET)");
});

test.concurrent("an outage names a server that is silent", async () => {
  const server = createServer((socket) => socket.on("error", () => undefined).resume());
  onTestFinished(() => {
    server.close();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await expectOutage({ url: urlOf("chats", `http://127.0.0.1:${port}`) }, `127.0.0.1:${port} (timeout)`);
});
