import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  checkFactoryOptions,
  type DriverTarget,
  hasMethods,
  isId,
  isUrl,
} from "@scrollback/store-core/driver";
import type { Cluster, Redis } from "ioredis";

/** A client of ioredis, version 5 or 6: for a server, Sentinel or a cluster. */
export type RedisClient = Redis | Cluster;

/** Options of `createRedisStores`: either `url` or `client`, and the options of every backend. */
export interface RedisStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `redis://[user:password@]host[:port][/db]`, or `rediss://…` for TLS, with user name and password percent-encoded. The
   * factory opens one connection at the first call, reopens it when it is lost, and closes it in `close()`.
   */
  url?: string;
  /**
   * An ioredis client, for Cluster, Sentinel, a private CA or custom timeouts. The stores open a connection of their own with its settings, one for
   * all factories on the client, which ends with the client. The factory never closes the client.
   */
  client?: RedisClient;
  /** The prefix of the stores' keys, 1 to 1,024 bytes. Default `"scrollback"`. */
  keyPrefix?: string;
}

const isRedisUrl = isUrl(
  "redis://[user:password@]host[:port][/db], or rediss:// for TLS, with user name and password percent-encoded; for other settings hand in a client",
  ["redis", "rediss"],
  (url) => url.hostname !== "" && /^(\/\d*)?$/.test(url.pathname) && url.search === "" && url.hash === "",
);

const redisOptionChecks = Object.freeze({
  url: isRedisUrl,
  client: hasMethods("duplicate", "disconnect"),
  keyPrefix: isId,
});

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function checkRedisOptions(options: unknown): void {
  checkFactoryOptions("createRedisStores", options ?? {}, redisOptionChecks);
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
