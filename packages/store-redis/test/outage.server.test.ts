import { runFactory } from "@scrollback/conformance";
import { afterAll, describe } from "vitest";
import type { IoredisClient } from "../src/clients/ioredis-options.ts";
import { createRedisStores } from "../src/index.ts";
import { majors } from "./clients.ts";

runFactory<{ url: string }>({
  name: "Redis",
  create: createRedisStores,
  secret: "hush",
  outages: {
    "where nothing listens": [() => ({ url: "redis://:hush@127.0.0.1:1" }), "127.0.0.1:1", "ECONNREFUSED"],
    "where the name is unknown": [
      () => ({ url: "redis://nohost.invalid:6399" }),
      "nohost.invalid:6399",
      "ENOTFOUND",
    ],
  },
  silent: (port) => ({ url: `redis://127.0.0.1:${port}` }),
});

const clients: IoredisClient[] = [];
afterAll(() => {
  for (const client of clients) client.disconnect();
});
/** A caller's client. For a cluster, ioredis would print errors without a listener. */
const handingIn = (connect: () => IoredisClient) => () => {
  const client = connect().on("error", () => undefined);
  clients.push(client);
  return { client };
};

describe.each(majors)("with a caller's client of $major", ({ Redis, Cluster }) => {
  const address = { host: "127.0.0.1", port: 1 };
  const noQueue = { enableOfflineQueue: false };
  const brief = { maxRetriesPerRequest: 0, retryStrategy: () => 200 };
  const refused = [`${address.host}:${address.port}`, "(ECONNREFUSED)"] as const;
  // ioredis does not report why it cannot connect to a sentinel or to the first node.
  const unknown = [`${address.host}:${address.port}`] as const;
  const sentinels = { sentinels: [address], name: "main", ...noQueue, ...brief };
  runFactory<{ client: IoredisClient }>({
    name: "Redis",
    create: createRedisStores,
    secret: "hush",
    outages: {
      "of a server": [handingIn(() => new Redis({ ...address, ...brief })), ...refused],
      "of a server, without a queue": [
        handingIn(() => new Redis({ ...address, ...brief, ...noQueue })),
        ...refused,
      ],
      "of Sentinel": [handingIn(() => new Redis(sentinels)), ...unknown],
      "of a cluster": [
        handingIn(() => new Cluster([address], { ...noQueue, redisOptions: brief })),
        ...unknown,
      ],
    },
  });
});
