import { randomUUID } from "node:crypto";
import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { type MessageRecord, SequenceBounds } from "@scrollback/store-core/driver";
import { Cluster, Redis } from "ioredis";
import type {
  Address,
  RedisCluster,
  RedisSentinel,
} from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import type { IoredisClient } from "../src/clients/ioredis-options.ts";
import { formatListed, indexKeys, parseFooter, threadKeys } from "../src/keys.ts";
import { type ClientName, connect, type Namespace, type ServerLocation } from "./connection.ts";
import { requestsOf } from "./count-requests.ts";
import { TOKEN, type UpstashServer } from "./upstash-server.ts";

/** The module that other processes import. */
const module = new URL("./connection.ts", import.meta.url);

/** Returns a function that creates harnesses on a server, each with its own namespace. */
export function redisHarnesses(
  starting: Promise<SharedServer & { readonly password?: string | undefined }>,
  client: ClientName = "ioredis 6",
): () => Promise<Harness> {
  return async () => {
    const { product, version, url, password } = await starting;
    const throughProxy = async (proxy: TcpProxy): Promise<ServerLocation> => {
      return { url: await proxy.forwardUrl(url, 6379) };
    };
    const secrets = password ? [password] : [];
    return await harnessOn({ url }, { server: { product, version }, throughProxy, client, secrets });
  };
}

/** Returns a function that creates harnesses on a cluster, each with its own namespace. */
export function redisClusterHarnesses(
  starting: Promise<RedisCluster>,
  client: ClientName = "ioredis 6",
): () => Promise<Harness> {
  return async () => {
    const { product, version, startupNodes, natMap } = await starting;
    const throughProxy = async (proxy: TcpProxy): Promise<ServerLocation> => {
      const forwarded = await forwardAll(proxy, startupNodes);
      return { startupNodes: startupNodes.map(forwarded), natMap: mapValues(natMap, forwarded) };
    };
    return await harnessOn({ startupNodes, natMap }, { server: { product, version }, throughProxy, client });
  };
}

/** Returns a function that creates harnesses on a server with Sentinel, each with its own namespace. */
export function redisSentinelHarnesses(
  starting: Promise<RedisSentinel>,
  client: ClientName = "ioredis 6",
): () => Promise<Harness> {
  return async () => {
    const { product, version, connection } = await starting;
    const { sentinels, name, natMap } = connection;
    const throughProxy = async (proxy: TcpProxy): Promise<ServerLocation> => {
      const forwarded = await forwardAll(proxy, [...sentinels, ...Object.values(natMap)]);
      return { sentinels: sentinels.map(forwarded), name, natMap: mapValues(natMap, forwarded) };
    };
    const server = { product, version };
    return await harnessOn(connection, { server, throughProxy, client });
  };
}

/** Returns a function that creates harnesses on a server that speaks Upstash's protocol in front of Redis. */
export function upstashHarnesses(
  starting: Promise<readonly [redis: SharedServer, front: UpstashServer]>,
): () => Promise<Harness> {
  return async () => {
    const [{ product, version, url }, front] = await starting;
    const throughProxy = async (proxy: TcpProxy): Promise<ServerLocation> => {
      return { upstash: new URL(await proxy.forwardUrl(front.url, 80)).origin };
    };
    return await harnessOn(
      { upstash: front.url },
      { server: { product, version }, throughProxy, client: "ioredis 6", secrets: [TOKEN], raw: { url } },
    );
  };
}

/** Forwards each address. The returned function maps an address to its forwarded one. */
async function forwardAll(
  proxy: TcpProxy,
  addresses: readonly Address[],
): Promise<(address: Address) => Address> {
  const ports = new Map<string, number>();
  for (const address of addresses) {
    ports.set(`${address.host}:${address.port}`, await proxy.forward(address));
  }
  return ({ host, port }) => {
    const forwarded = ports.get(`${host}:${port}`);
    if (forwarded === undefined) throw new Error(`${host}:${port} is not forwarded`);
    return { host: "127.0.0.1", port: forwarded };
  };
}

function mapValues<T>(record: Readonly<Record<string, T>>, map: (value: T) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

interface Surroundings {
  readonly server: Harness["server"];
  throughProxy(proxy: TcpProxy): Promise<ServerLocation>;
  readonly client: ClientName;
  readonly secrets?: readonly string[];
  /** Where the records are read and planted. Default: the location itself. */
  readonly raw?: ServerLocation;
}

async function harnessOn(
  location: ServerLocation,
  { server, throughProxy, client, secrets = [], raw: rawLocation = location }: Surroundings,
): Promise<Harness> {
  const namespace: Namespace = { ...location, client, keyPrefix: `suite-${randomUUID()}` };
  const requests = requestsOf(namespace);
  const { driver } = requests;
  const raw = rawClient(rawLocation);
  // A test may kill the server of this client.
  raw.on("error", () => undefined);
  const proxy = new TcpProxy();
  const { keyPrefix } = namespace;
  const faultyNamespace: Namespace = { ...(await throughProxy(proxy)), client, keyPrefix };
  const faults: NonNullable<Harness["faults"]> = {
    connect: () => connect(faultyNamespace),
    proxy,
    childProcess: { module, data: faultyNamespace },
  };
  return {
    driver,
    server,
    connect: () => connect(namespace),
    childProcess: { module, data: namespace },
    raw: rawAccess(raw, namespace.keyPrefix),
    requestCount: requests.count,
    secrets,
    faults,
    async close() {
      await driver.close();
      await proxy.close();
      await removeNamespace(raw, namespace.keyPrefix);
      raw.disconnect();
    },
  };
}

function rawClient(location: ServerLocation): IoredisClient {
  if ("url" in location) return new Redis(location.url);
  if ("sentinels" in location) return new Redis({ ...location });
  if ("upstash" in location) throw new TypeError("a client of Redis cannot connect to a service over HTTP");
  return new Cluster(location.startupNodes, { natMap: location.natMap });
}

function rawAccess(raw: IoredisClient, keyPrefix: string): Harness["raw"] {
  return {
    async dump(threadId) {
      const { messages, ...hashes } = threadKeys(keyPrefix, threadId);
      const content = [await raw.lrange(messages, 0, -1)];
      for (const key of Object.values(hashes)) content.push(Object.entries(await raw.hgetall(key)).flat());
      return content.flat().join("\n");
    },
    async dumpIndex(index) {
      const { entries, values } = indexKeys(keyPrefix, index);
      return [await raw.zrange(entries, "0", "-1"), Object.entries(await raw.hgetall(values)).flat()]
        .flat()
        .join("\n");
    },
    async plant(threadId, sequence, { kind, ...message }) {
      const { messages } = threadKeys(keyPrefix, threadId);
      const { bounds } = parseFooter(threadId, (await raw.lindex(messages, -1)) ?? "");
      const pinned = SequenceBounds.pinnedOf(bounds);
      const index = pinned.includes(sequence)
        ? pinned.indexOf(sequence)
        : sequence - bounds.first + pinned.length;
      await raw.lset(messages, index, formatListed({ kind: kind as MessageRecord["kind"], ...message }));
    },
  };
}

async function removeNamespace(raw: IoredisClient, keyPrefix: string): Promise<void> {
  const nodes = raw instanceof Redis ? [raw] : raw.nodes("master");
  for (const node of nodes) {
    for await (const keys of node.scanStream({ match: `${keyPrefix}:*`, count: 1_000 })) {
      for (const key of keys as string[]) await node.unlink(key);
    }
  }
}
