import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  checkFactoryOptions,
  clientFrom,
  type DriverTarget,
  hasMethods,
  isId,
  isUrl,
  REPLY_TIMEOUT_MS,
  type UsedClient,
} from "@scrollback/store-core/driver";
import { type Cluster, Redis } from "ioredis";
import { refusePlainServer } from "./plain-server.ts";

/** A client of ioredis, version 5 or 6: for a server, Sentinel or a cluster. */
export type RedisClient = Redis | Cluster;

/** Options of `createRedisStores`: either `url` or `client`, and the options of every backend. */
export interface RedisStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `redis://[user:password@]host[:port][/db]`, or `rediss://…` for TLS, with user name and password percent-encoded. The
   * factory opens one connection at the first call, reopens it when it is lost, and closes it in `close()`.
   */
  url?: string;
  /** An ioredis client, for Cluster, Sentinel, a private CA or custom timeouts. The factory never closes it. */
  client?: RedisClient;
  /** The prefix of the stores' keys, 1 to 1,024 bytes. Default `"scrollback"`. */
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
});

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function checkRedisOptions(options: unknown): void {
  checkFactoryOptions("createRedisStores", options ?? {}, redisOptionChecks);
}

/** Returns the given client, or a new one for the URL, and whether the factory must close it. */
export function clientOf(url: string | undefined, client: RedisClient | undefined): UsedClient<RedisClient> {
  return clientFrom("createRedisStores", { url, client }, openClient);
}

/**
 * Returns the database and the server of a client. A cluster has neither. With Sentinel or a socket there is no server
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
 * Returns a client for a checked URL. It connects at the first command. A command whose connection is lost fails at once:
 * store-core retries it with the same operation id, so that only one layer decides how long to retry.
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
    // Closing does not wait for an abandoned connection.
    disconnectTimeout: 0,
    maxRetriesPerRequest: 0,
    retryStrategy: pauseBeforeReconnect,
    // The name of a server that became a replica may now lead to a new primary.
    reconnectOnError: (error) => error.message.includes("READONLY"),
    // A loading server reports it in its replies. Without the check the ACL user needs neither INFO nor CLIENT.
    enableReadyCheck: false,
    disableClientInfo: true,
  });
  if (url.protocol === "rediss:") refusePlainServer(client);
  return client;
}

/** Short for about 5 seconds, while calls may be waiting, then longer. Jittered, because all clients reconnect at once. */
function pauseBeforeReconnect(attempt: number): number {
  const longest = attempt > 50 ? 2_000 : Math.min(200, 20 * 2 ** attempt);
  return longest * (0.5 + Math.random() / 2);
}
