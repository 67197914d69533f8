import { StoreError } from "@scrollback/store-core";
import { clientFrom, type DriverTarget, hostAndPort } from "@scrollback/store-core/driver";
import { IoredisConnection } from "./clients/ioredis.ts";
import type { IoredisClient } from "./clients/ioredis-options.ts";
import { NodeRedisConnection } from "./clients/node-redis.ts";
import type { NodeRedisClient } from "./clients/node-redis-client.ts";
import { UpstashConnection } from "./clients/upstash.ts";
import type { Connection, OpenCommands } from "./connection.ts";
import type { CredentialsProvider } from "./credentials.ts";
import { isIoredis, isUpstash, type RedisClient } from "./options.ts";

/** The connections on the settings of callers' clients that have connections, so that the factories on a client share one. They end with the caller's client. */
const shared = new WeakMap<RedisClient, Connection>();

/**
 * For exactly one of a checked URL and a caller's client.
 *
 * @throws StoreError `INVALID_ARGUMENT` for both or none.
 */
export function connectionOf(
  url: string | undefined,
  client: RedisClient | undefined,
  credentials?: CredentialsProvider,
): Connection {
  const given = client && connectionLike(client);
  const open = (text: string) => new UrlConnection(new URL(text), credentials);
  return clientFrom<Connection>("createRedisStores", { url, client: given }, open).client;
}

function connectionLike(client: RedisClient): Connection {
  if (isUpstash(client)) return new UpstashConnection(client);
  const known = shared.get(client);
  if (known) return known;
  const connection = isIoredis(client)
    ? IoredisConnection.like(client as object as IoredisClient)
    : new NodeRedisConnection(client as object as NodeRedisClient);
  shared.set(client, connection);
  return connection;
}

/** A connection for a URL, whose client is imported with the first call: whichever is installed. */
class UrlConnection implements Connection {
  readonly isCluster = false;
  readonly keyPrefix = "";
  readonly target: DriverTarget;
  readonly server: string;
  readonly #url: URL;
  readonly #credentials: CredentialsProvider | undefined;
  #opened: Connection | undefined;
  #opening: Promise<Connection> | undefined;
  #isClosed = false;

  constructor(url: URL, credentials: CredentialsProvider | undefined) {
    const address = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port || 6379);
    this.#url = url;
    this.#credentials = credentials;
    this.target = { namespace: String(Number(url.pathname.slice(1))), server: { address, port } };
    this.server = hostAndPort(address, port);
  }

  async run<T>(send: (commands: OpenCommands) => Promise<T>): Promise<T> {
    const connection = this.#opened ?? (await this.#open());
    return await connection.run(send);
  }

  close(): void {
    this.#isClosed = true;
    this.#opened?.close();
  }

  async #open(): Promise<Connection> {
    this.#opening ??= clientFor(this.#url, this.#credentials);
    const opened = await this.#opening;
    this.#opened = opened;
    if (this.#isClosed) opened.close();
    return opened;
  }
}

/** ioredis if it is installed, because more environments were tested with it; else node-redis. */
async function clientFor(url: URL, credentials: CredentialsProvider | undefined): Promise<Connection> {
  // Directly inside a `try`, so that bundlers accept a package that is not installed.
  try {
    const { Redis } = await import("ioredis");
    return IoredisConnection.to(url, Redis, credentials);
  } catch (error) {
    if (!isMissing("ioredis", error)) throw error;
  }
  try {
    const { createClient } = await import("redis");
    return NodeRedisConnection.to(url, createClient, credentials);
  } catch (error) {
    if (!isMissing("redis", error)) throw error;
  }
  throw new StoreError(
    "UNSUPPORTED",
    "createRedisStores: url needs a client of Redis; run: npm install redis, or npm install ioredis",
  );
}

function isMissing(name: string, error: unknown): boolean {
  if (!(error instanceof Error) || Reflect.get(error, "code") !== "ERR_MODULE_NOT_FOUND") return false;
  return error.message.includes(`'${name}'`);
}
