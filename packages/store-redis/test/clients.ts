import { Cluster, Redis } from "ioredis";
import { Cluster as Cluster5, Redis as Redis5 } from "ioredis-5";
import { onTestFinished } from "vitest";
import type { RedisClient } from "../src/options.ts";

/** Both majors of ioredis. Their types differ only in parts that these tests do not use. */
export const majors = [
  { major: "ioredis 6", Redis, Cluster },
  {
    major: "ioredis 5",
    Redis: Redis5 as unknown as typeof Redis,
    Cluster: Cluster5 as unknown as typeof Cluster,
  },
];

/** A client that is closed after the test, and whose connection errors are ignored. */
export function opened<C extends RedisClient>(client: C): C {
  client.on("error", () => undefined);
  onTestFinished(() => client.disconnect());
  return client;
}
