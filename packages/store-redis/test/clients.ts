import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { onTestFinished } from "vitest";
import type { RedisName } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import type { RedisClient } from "../src/options.ts";

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

/** The tested servers: the newest one, in the deep plan also older ones and Valkey. */
export const serverNames: readonly RedisName[] = isDeep
  ? ["redis", "redis-7", "redis-6.2", "valkey"]
  : ["redis"];

/** A client that is closed after the test, and whose connection errors are ignored. Tests that run beside others pass their own `finished`. */
export function opened<C extends RedisClient>(
  client: C,
  finished: (close: () => Promise<void> | void) => void = onTestFinished,
): C {
  client.on("error", () => undefined);
  finished(() => client.disconnect());
  return client;
}
