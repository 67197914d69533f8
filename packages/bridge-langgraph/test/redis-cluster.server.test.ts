import { type RedisCluster, startRedisCluster } from "@scrollback/conformance/servers";
import { createRedisStores } from "@scrollback/store-redis";
import { Cluster } from "ioredis";
import { afterAll } from "vitest";
import { newNamespace } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { declareBackendTests } from "./backends.ts";

let starting: Promise<RedisCluster> | undefined;
let client: Cluster | undefined;
declareBackendTests("Redis Cluster", async () => {
  starting = startRedisCluster();
  const { startupNodes, natMap } = await starting;
  const cluster = new Cluster(startupNodes, { natMap });
  client = cluster;
  const keyPrefix = newNamespace();
  return () => createRedisStores({ client: cluster, keyPrefix });
});

afterAll(async () => {
  client?.disconnect();
  await (await starting)?.stop();
});
