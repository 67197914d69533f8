import {
  type ChatMessage,
  checkOptions,
  clientFrom,
  type DriverTarget,
  hasMethods,
  isId,
  isUrl,
  REPLY_TIMEOUT_MS,
  type StoreOptions,
  storeOptionChecks,
  type UsedClient,
} from "@scrollback/store-core";
import { type Cluster, Redis } from "ioredis";
import { refusePlainServer } from "./plain-server.ts";

/** A client of ioredis, version 5 or 6: for a server, Sentinel or a cluster. */
export type RedisClient = Redis | Cluster;

/** What `createRedisStores` takes: one of `url` and `client`, and what every backend's factory takes. */
export interface RedisStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `redis://[user:password@]host[:port][/db]`, or `rediss://…` for TLS; user name and password percent-encoded. The
   * factory opens one connection with the first call, opens it again when it is lost, and closes it with `close()`.
   */
  url?: string;
  /** An ioredis client, for Cluster, Sentinel, a private CA or timeouts of your own. It is never closed. */
  client?: RedisClient;
  /** What the keys of these stores begin with, 1 to 1,024 bytes. Default `"scrollback"`. */
  keyPrefix?: string;
}

const CONNECT_TIMEOUT_MS = 5_000;
const KEEP_ALIVE_MS = 10_000;

const isRedisUrl = isUrl(
  "redis://[user:password@]host[:port][/db], or rediss:// for TLS, with user name and password percent-encoded; for other settings hand in a client",
  ["redis", "rediss"],
  (url) => url.hostname !== "" && /^(\/\d*)?$/.test(url.pathname) && url.search === "" && url.hash === "",
);

const redisOptionChecks = Object.freeze({
  url: isRedisUrl,
  client: hasMethods("call", "lrange", "pipeline", "disconnect"),
  keyPrefix: isId,
  ...storeOptionChecks,
});

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function checkRedisOptions(options: unknown): void {
  checkOptions("createRedisStores", options ?? {}, redisOptionChecks);
}

/** The client that checked options give or ask for, and whether it is the factory's own to close. */
export function clientOf(url: string | undefined, client: RedisClient | undefined): UsedClient<RedisClient> {
  return clientFrom("createRedisStores", { url, client }, openClient);
}

/**
 * The database and the server of a client. Of a cluster nothing, behind Sentinel or a socket no server: there is no one
 * address.
 */
export function targetOf(client: RedisClient): DriverTarget | undefined {
  if (client.isCluster) return undefined;
  const { host, port, db, path, sentinels } = (client as Redis).options ?? {};
  const isKnown = host !== undefined && port !== undefined && !path && !sentinels;
  return {
    ...(db !== undefined && { namespace: String(db) }),
    ...(isKnown && { server: { address: host, port } }),
  };
}

/**
 * The client for a URL that was checked. It connects with the first command. A command whose connection is lost fails at
 * once: store-core sends it again, under the same operation id, so one layer alone decides how long that goes on.
 */
function openClient(text: string): Redis {
  const url = new URL(text);
  const [username, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const client = new Redis({
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || 6379),
    db: Number(url.pathname.slice(1)),
    ...(username !== "" && { username }),
    ...(password !== "" && { password }),
    ...(url.protocol === "rediss:" && { tls: {} }),
    lazyConnect: true,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: REPLY_TIMEOUT_MS,
    keepAlive: KEEP_ALIVE_MS,
    // A connection that is given up is not waited for.
    disconnectTimeout: 0,
    maxRetriesPerRequest: 0,
    retryStrategy: pauseBeforeReconnect,
    // Behind the name of a server that became a replica there may be a new primary by now.
    reconnectOnError: (error) => error.message.includes("READONLY"),
    // A server that is loading says so by itself; this way the user of the ACL needs no INFO and no CLIENT.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  if (url.protocol === "rediss:") refusePlainServer(client);
  return client;
}

/** Short while calls may be waiting, which is for 5 seconds; long once nobody does. Jittered: all clients lost it at once. */
function pauseBeforeReconnect(attempt: number): number {
  const longest = attempt > 50 ? 2_000 : Math.min(200, 20 * 2 ** attempt);
  return longest * (0.5 + Math.random() / 2);
}
