import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { createMongoStores } from "@scrollback/store-mongo";
import { createRedisStores } from "@scrollback/store-redis";
import { afterAll } from "vitest";
import { declareReducedStoreTests } from "./reduced-store.ts";

// DynamoDB Local accepts any credentials; the client gets them through the standard chain, as in production.
process.env.AWS_ACCESS_KEY_ID ??= "suite";
process.env.AWS_SECRET_ACCESS_KEY ??= "suite";

const running: Promise<RunningServer>[] = [];
afterAll(async () => {
  for (const server of await Promise.allSettled(running)) {
    if (server.status === "fulfilled") await server.value.stop();
  }
});

async function urlOf(name: "redis" | "mongodb" | "dynamodb"): Promise<string> {
  const starting = startServer(name);
  running.push(starting);
  return (await starting).url;
}

declareReducedStoreTests("Redis", async () => createRedisStores({ url: await urlOf("redis") }));
declareReducedStoreTests("MongoDB", async () => createMongoStores({ url: await urlOf("mongodb") }));
declareReducedStoreTests("DynamoDB", async () => {
  const endpoint = new URLSearchParams({ region: "eu-central-1", endpoint: await urlOf("dynamodb") });
  return createDynamoStores({ url: `dynamodb://reducers?${endpoint}` });
});
