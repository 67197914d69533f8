import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { createMongoStores } from "@scrollback/store-mongo";
import { createPostgresStores } from "@scrollback/store-postgres";
import { createRedisStores } from "@scrollback/store-redis";
import { afterAll, expect, test } from "vitest";
import { runGenkitTests } from "./genkit-tests/run.ts";
import { declareStoreTests } from "./store-tests.ts";

// DynamoDB Local takes any credentials; they come to the client as a user's would, through the standard chain.
process.env.AWS_ACCESS_KEY_ID ??= "suite";
process.env.AWS_SECRET_ACCESS_KEY ??= "suite";

const running = new Map<string, Promise<RunningServer>>();
afterAll(async () => {
  for (const server of await Promise.allSettled(running.values())) {
    if (server.status === "fulfilled") await server.value.stop();
  }
});

async function urlOf(name: "redis" | "mongodb" | "dynamodb" | "postgres"): Promise<string> {
  const starting = running.get(name) ?? startServer(name);
  running.set(name, starting);
  return (await starting).url;
}

const name = `genkit_${randomUUID().replaceAll("-", "")}`;
declareStoreTests("Redis", async () => createRedisStores({ url: await urlOf("redis"), keyPrefix: name }));
declareStoreTests("MongoDB", async () =>
  createMongoStores({ url: await urlOf("mongodb"), collectionName: name }),
);
declareStoreTests("DynamoDB", async () => {
  const endpoint = new URLSearchParams({ region: "eu-central-1", endpoint: await urlOf("dynamodb") });
  return createDynamoStores({ url: `dynamodb://${name}?${endpoint}` });
});
declareStoreTests("PostgreSQL", async () =>
  createPostgresStores({ url: await urlOf("postgres"), tableName: name }),
);

test("Genkit's own 126 tests of agents and session stores pass on Redis", async () => {
  expect(await runGenkitTests(await urlOf("redis"))).toEqual({ passed: 126, failed: [] });
});
