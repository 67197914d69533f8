import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { createClient } from "redis";
import { createClient as createClient5 } from "redis-5";
import { onTestFinished } from "vitest";
import type { RedisName } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import type { IoredisClient } from "../src/clients/ioredis-options.ts";
import { type ClientName, clients } from "./connection.ts";

const isDeep = process.env.SCROLLBACK_DEEP === "1";

const newest = { major: "ioredis 6", Redis, Cluster };
/** Its types differ from the newest major's only in parts that these tests do not use. */
const older: typeof newest = {
  major: "ioredis 5",
  Redis: Redis5 as unknown as typeof Redis,
  Cluster: Cluster5 as unknown as typeof Cluster,
};

/** The tested majors of ioredis: the newest one, in the deep plan both. */
export const majors = isDeep ? [newest, older] : [newest];

const node6 = { major: "node-redis 6", createClient };
const node5: typeof node6 = {
  major: "node-redis 5",
  createClient: createClient5 as unknown as typeof createClient,
};

/** The tested majors of node-redis: the newest one, in the deep plan both. */
export const nodeRedisMajors = isDeep ? [node6, node5] : [node6];

/** The tested clients of all families: the newest ones, in the deep plan all. */
export const clientNames: readonly ClientName[] = isDeep
  ? (Object.keys(clients) as ClientName[])
  : ["ioredis 6", "node-redis 6"];

/** The tested servers: the newest one, in the deep plan also older ones and Valkey. */
export const serverNames: readonly RedisName[] = isDeep
  ? ["redis", "redis-7", "redis-6.2", "valkey"]
  : ["redis"];

/** A client that is closed after the test, and whose connection errors are ignored. Tests that run beside others pass their own `finished`. */
export function opened<C extends IoredisClient>(
  client: C,
  finished: (close: () => Promise<void> | void) => void = onTestFinished,
): C {
  client.on("error", () => undefined);
  finished(() => client.disconnect());
  return client;
}
