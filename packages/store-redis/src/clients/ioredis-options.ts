import { type DriverTarget, hostAndPort, REQUEST_TIMEOUT_MS } from "@scrollback/store-core/driver";
import type { Cluster, Redis, RedisOptions } from "ioredis";
import { refusePlainServer } from "./plain-server.ts";

/** A client of ioredis 5 or 6, or of iovalkey: for a server, Sentinel or a cluster. */
export type IoredisClient = Redis | Cluster;

/** As long as store-core's longest pause between attempts, and short enough for several attempts within its 5 seconds. */
export const LONGEST_WAIT_MS = 1_000;
const KEEP_ALIVE_MS = 10_000;
/**
 * How each client behaves that the stores use: a command is sent at once or not at all, and once. So only one layer decides how long to retry,
 * store-core's, and a request that its caller gave up is never sent later.
 */
const behaviour = {
  lazyConnect: true,
  enableOfflineQueue: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  enableAutoPipelining: false,
  stringNumbers: false,
  showFriendlyErrorStack: false,
  // Closing does not wait for an abandoned connection.
  disconnectTimeout: 0,
  // A loading server reports it in its replies. Without the check the ACL user needs neither INFO nor CLIENT.
  enableReadyCheck: false,
  disableClientInfo: true,
  retryStrategy: pauseBeforeReconnect,
  // The defaults of ioredis 6.
  protocol: 3,
  replyMapping: "legacy",
} as const satisfies RedisOptions;

/**
 * A client for a URL, by ioredis' `Redis`.
 *
 * @param logsIn whether the stores log each connection in. Then the client sends no `HELLO`, which the server would refuse before.
 */
export function clientFor(url: URL, Client: typeof Redis, logsIn: boolean): Redis {
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const client: Redis = new Client({
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1)),
    ...(username !== "" && { username }),
    ...(password !== "" && { password }),
    ...(url.protocol === "rediss:" && { tls: {} }),
    connectTimeout: REQUEST_TIMEOUT_MS,
    commandTimeout: REQUEST_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    ...behaviour,
    ...(logsIn && { protocol: 2 }),
    reconnectOnError: (error) => error.message.includes("READONLY") && isFirstRefusal(),
  });
  /**
   * The name of a server that became a replica may now lead to a new primary. All waiting calls are refused together: ioredis would close
   * the connection, and add a listener to it, for each of them.
   */
  let refused: unknown;
  const isFirstRefusal = () => {
    const isFirst = client.stream !== refused;
    refused = client.stream;
    return isFirst;
  };
  if (url.protocol === "rediss:") refusePlainServer(client);
  return client;
}

/** A client with the settings of a caller's client, apart from what {@link behaviour} says. */
export function copyOf(given: IoredisClient): IoredisClient {
  const commandTimeout = (theirs = 0) => Math.max(REQUEST_TIMEOUT_MS, theirs);
  if (!given.isCluster) {
    const { options } = given as Redis;
    return (given as Redis).duplicate({
      ...behaviour,
      commandTimeout: commandTimeout(options.commandTimeout),
    });
  }
  const { redisOptions = {} } = (given as Cluster).options;
  return (given as Cluster).duplicate([], {
    lazyConnect: true,
    enableOfflineQueue: false,
    enableAutoPipelining: false,
    showFriendlyErrorStack: false,
    scaleReads: "master",
    // Else a command whose connection is lost would be sent again.
    retryDelayOnFailover: 0,
    clusterRetryStrategy: pauseBeforeReconnect,
    redisOptions: {
      ...redisOptions,
      ...behaviour,
      commandTimeout: commandTimeout(redisOptions.commandTimeout),
    },
  });
}

/** Short for about 5 seconds, while calls may be waiting, then longer. Jittered, because all clients reconnect at once. */
function pauseBeforeReconnect(attempt: number): number {
  const longest = attempt > 50 ? 2_000 : Math.min(200, 20 * 2 ** attempt);
  return longest * (0.5 + Math.random() / 2);
}

/** The address of the server, or the addresses of its sentinels. */
export function serverOf(client: Redis): string | undefined {
  const { server } = targetOf(client) ?? {};
  if (server) return hostAndPort(server.address, server.port);
  const { path, sentinels } = client.options ?? {};
  // With ioredis' default values.
  return (
    path ?? sentinels?.map(({ host = "localhost", port = 26_379 }) => hostAndPort(host, port)).join(", ")
  );
}

export function targetOf(client: IoredisClient): DriverTarget | undefined {
  if (client.isCluster) return undefined;
  const { host, port, db, path, sentinels } = (client as Redis).options ?? {};
  const isKnown = host !== undefined && port !== undefined && !path && !sentinels;
  return {
    ...(db !== undefined && { namespace: String(db) }),
    ...(isKnown && { server: { address: host, port } }),
  };
}
