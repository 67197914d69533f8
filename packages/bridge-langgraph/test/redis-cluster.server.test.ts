import { startRedisCluster } from "@scrollback/conformance/servers";
import { createRedisStores } from "@scrollback/store-redis";
import { Cluster } from "ioredis";
import { afterAll } from "vitest";
import { declareBackendTests } from "./backends.ts";

let client: Cluster | undefined;
declareBackendTests(
  "Redis Cluster",
  () => startRedisCluster(),
  ({ startupNodes, natMap }, keyPrefix) => {
    client ??= new Cluster(startupNodes, { natMap });
    return createRedisStores({ client, keyPrefix });
  },
);

// Before the servers stop, which is the other way round.
afterAll(() => client?.disconnect());
