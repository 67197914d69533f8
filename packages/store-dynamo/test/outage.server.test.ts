import { DynamoDB, DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import { runFactory } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { createDynamoStores, type DynamoStoreOptions } from "../src/index.ts";
import { clientOf, makeTable, urlOf } from "./table.ts";

const server = sharedServer("dynamodb");
const table = server.then(({ url }) => makeTable(url));
afterAll(async () => {
  await (await table)[Symbol.asyncDispose]();
});

const reset = () => Promise.reject(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));

/** A caller's client with settings that change how requests are made and values are read. */
const withSettings =
  (Client: typeof DynamoDBClient, settings: DynamoDBClientConfig = {}) =>
  async () => {
    const client = new Client({ region: "eu-central-1", endpoint: (await server).url, ...settings });
    return {
      options: { client, tableName: (await table).tableName },
      use: async () => undefined,
      close: () => client.destroy(),
    };
  };

runFactory<DynamoStoreOptions>({
  name: "DynamoDB",
  create: createDynamoStores,
  secret: "hush",
  outages: {
    "names a server that nothing listens on": [
      () => ({ url: urlOf("chats", "http://127.0.0.1:1") }),
      "127.0.0.1:1 (ECONNREFUSED)",
    ],
    "names an unknown server": [
      () => ({ url: urlOf("chats", "https://nohost.invalid") }),
      "nohost.invalid:443 (ENOTFOUND)",
    ],
    "names the service of a region": [
      () => ({
        client: new DynamoDBClient({
          region: "eu-central-1",
          credentials: { accessKeyId: "a", secretAccessKey: "hush" },
          maxAttempts: 1,
          requestHandler: { handle: reset },
        }),
      }),
      "dynamodb.eu-central-1.amazonaws.com:443 (ECONNRESET)",
    ],
  },
  silent: (port) => ({ url: urlOf("chats", `http://127.0.0.1:${port}`) }),
  async handIn() {
    const { tableName } = await table;
    const client = clientOf((await server).url);
    let isDestroyed = false;
    const { destroy } = client;
    client.destroy = () => {
      isDestroyed = true;
      destroy.call(client);
    };
    return {
      options: { client, tableName },
      // The client reconnects after it was destroyed.
      use: async () => {
        if (isDestroyed) throw new Error("the client was destroyed");
      },
      close: () => client.destroy(),
    };
  },
  otherSettings: {
    "a method for each command": withSettings(DynamoDB),
    "cached middleware and adaptive retries": withSettings(DynamoDBClient, {
      cacheMiddleware: true,
      retryMode: "adaptive",
    }),
  },
});
