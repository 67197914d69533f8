import { randomUUID } from "node:crypto";
import { type FaultyConnection, type Harness, type RawAccess, TcpProxy } from "@scrollback/conformance";
import type { RedisCluster, RunningServer } from "@scrollback/conformance/servers";
import { Cluster, Redis } from "ioredis";
import { parseFooter, threadKeys } from "../src/keys.ts";
import type { RedisClient } from "../src/options.ts";
import { connect, type Namespace, open, type Place } from "./connection.ts";
import { countRequests } from "./count-requests.ts";

/** What makes harnesses on a server, each on a namespace of its own. */
export function redisHarnesses(starting: Promise<RunningServer>): () => Promise<Harness> {
  return async () => {
    const { product, version, url, password } = await starting;
    const throughProxy = async (proxy: TcpProxy): Promise<Place> => {
      const { hostname, port } = new URL(url);
      const faulty = new URL(url);
      faulty.host = `127.0.0.1:${await proxy.forward({ host: hostname, port: Number(port) })}`;
      return { url: faulty.href };
    };
    return await harnessOn({ url }, { product, version }, throughProxy, password ? [password] : []);
  };
}

/** What makes harnesses on a cluster, each on a namespace of its own. */
export function redisClusterHarnesses(starting: Promise<RedisCluster>): () => Promise<Harness> {
  return async () => {
    const { product, version, startupNodes, natMap } = await starting;
    const throughProxy = async (proxy: TcpProxy): Promise<Place> => {
      const faulty = new Map<string, { host: string; port: number }>();
      for (const { host, port } of startupNodes) {
        faulty.set(`${host}:${port}`, { host: "127.0.0.1", port: await proxy.forward({ host, port }) });
      }
      const mapped = Object.entries(natMap).map(([inner, { host, port }]) => [
        inner,
        faulty.get(`${host}:${port}`),
      ]);
      return { startupNodes: [...faulty.values()], natMap: Object.fromEntries(mapped) };
    };
    return await harnessOn({ startupNodes, natMap }, { product, version }, throughProxy);
  };
}

async function harnessOn(
  place: Place,
  server: Harness["server"],
  throughProxy: (proxy: TcpProxy) => Promise<Place>,
  secrets: string[] = [],
): Promise<Harness> {
  const namespace: Namespace = { ...place, keyPrefix: `suite-${randomUUID()}` };
  const { client, driver } = open(namespace);
  const raw =
    "url" in place ? new Redis(place.url) : new Cluster(place.startupNodes, { natMap: place.natMap });
  // A test may kill the server below it.
  raw.on("error", () => undefined);
  const proxy = new TcpProxy();
  const faultyNamespace: Namespace = { ...(await throughProxy(proxy)), keyPrefix: namespace.keyPrefix };
  const module = new URL("./connection.ts", import.meta.url);
  const faults: FaultyConnection = {
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
    requestCount: countRequests(client),
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

function rawAccess(raw: RedisClient, keyPrefix: string): RawAccess {
  return {
    async dump(threadId) {
      const { messages, meta } = threadKeys(keyPrefix, threadId);
      const list = await raw.lrange(messages, 0, -1);
      return [...list, ...Object.entries(await raw.hgetall(meta)).flat()].join("\n");
    },
    async plant(threadId, sequence, record) {
      const { messages } = threadKeys(keyPrefix, threadId);
      const { first, pinned } = parseFooter(threadId, (await raw.lindex(messages, -1)) ?? "").extent;
      const index = sequence === pinned ? 0 : sequence - first + (pinned === null ? 0 : 1);
      await raw.lset(messages, index, record);
    },
  };
}

async function removeNamespace(raw: RedisClient, keyPrefix: string): Promise<void> {
  const nodes = raw instanceof Redis ? [raw] : raw.nodes("master");
  for (const node of nodes) {
    for await (const keys of node.scanStream({ match: `${keyPrefix}:*`, count: 1_000 })) {
      for (const key of keys as string[]) await node.unlink(key);
    }
  }
}
