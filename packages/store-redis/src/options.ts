import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  type Check,
  checkFactoryOptions,
  hasMethods,
  invalid,
  isId,
  isUrl,
} from "@scrollback/store-core/driver";
import { isFunction } from "@scrollback/store-core/internal";
import type { UpstashClient } from "./clients/upstash.ts";
import type { CredentialsProvider } from "./credentials.ts";

/**
 * A client for a server, Sentinel or a cluster: of ioredis 5 or 6, of iovalkey, or of node-redis 5 or 6 (`createClient`, `createCluster`,
 * `createSentinel`); or one of `@upstash/redis`. Its type is structural, so that none of these packages need to be installed.
 */
export type RedisClient =
  | { duplicate(...overrides: never[]): unknown }
  | { createScript(script: string): unknown };

/** Whether a client is of ioredis or of iovalkey, which is made from it. */
export function isIoredis(client: RedisClient): boolean {
  return hasMethods("call", "disconnect")(client) === undefined;
}

const bearer = /^Bearer\s+[\x21-\x7e]+\s*$/;

/** Whether a client is one of `@upstash/redis` that was made with a URL and a token, and not with a requester. */
export function isUpstash(client: object): client is UpstashClient {
  const { baseUrl, headers, options }: Partial<UpstashClient["client"]> =
    (client as Partial<UpstashClient>).client ?? {};
  if (typeof baseUrl !== "string" || !URL.canParse(baseUrl)) return false;
  // `fetch` would show a URL with a password, or a token that cannot be sent, in its error.
  const { username, password } = new URL(baseUrl);
  return username + password === "" && bearer.test(headers?.authorization ?? "") && options !== undefined;
}

/** Whether a client has the API of node-redis. */
function isNodeRedis(client: RedisClient): boolean {
  return hasMethods("sendCommand", "destroy")(client) === undefined;
}

/** Options of `createRedisStores`: either `url` or `client`, and the options of every backend. */
export interface RedisStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * `redis://[user:password@]host[:port][/db]`, or `rediss://…` for TLS, with user name and password percent-encoded. The
   * factory opens one connection at the first call, reopens it when it is lost, and closes it in `close()`.
   */
  url?: string;
  /**
   * A client of ioredis, iovalkey, node-redis or `@upstash/redis`, for Cluster, Sentinel, a private CA or custom timeouts. The stores open a connection of
   * their own with its settings, one for all factories on the client, which ends with the client. The factory never closes the client.
   * A client of node-redis reports its end only if it was connected. Of `@upstash/redis` the URL and token are used: its options for
   * retries, pipelines and conversions do not matter.
   */
  client?: RedisClient;
  /**
   * Returns the user name and password of each new connection of `url`, which then has none: for passwords that change. A login that the
   * server refuses is tried once more, with what it returns then. With a `client`, use the client's own option.
   */
  credentials?: CredentialsProvider;
  /** The prefix of the stores' keys, 1 to 1,024 bytes. Default `"scrollback"`. */
  keyPrefix?: string;
}

const isRedisUrl = isUrl(
  "redis://[user:password@]host[:port][/db], or rediss:// for TLS, with user name and password percent-encoded; for other settings hand in a client",
  ["redis", "rediss"],
  (url) => url.hostname !== "" && /^(\/\d*)?$/.test(url.pathname) && url.search === "" && url.hash === "",
);

const isClient: Check = (value) => {
  if (hasMethods("createScript")(value) === undefined)
    return isUpstash(value as RedisClient)
      ? undefined
      : "must be made with the url and token of Upstash's REST API";
  return (
    hasMethods("duplicate")(value) ??
    (isIoredis(value as RedisClient) || isNodeRedis(value as RedisClient)
      ? undefined
      : "must be a client of ioredis, iovalkey, node-redis or @upstash/redis")
  );
};

const redisOptionChecks = Object.freeze({
  url: isRedisUrl,
  client: isClient,
  credentials: isFunction,
  keyPrefix: isId,
});

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function checkRedisOptions(options: unknown): void {
  checkFactoryOptions("createRedisStores", options ?? {}, redisOptionChecks);
  const { url, credentials } = (options ?? {}) as RedisStoreOptions;
  if (credentials === undefined) return;
  const hasLogin = url !== undefined && new URL(url).username + new URL(url).password !== "";
  if (url === undefined || hasLogin)
    invalid("createRedisStores: credentials: needs a url without user name and password");
}
