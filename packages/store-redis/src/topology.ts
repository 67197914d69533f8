import { createHash } from "node:crypto";
import type { Cluster, Redis } from "ioredis";
import type { RedisClient } from "./options.ts";

/** A server that holds threads. */
export interface Server {
  /** Identifies the server without its address. */
  readonly mark: string;
  readonly client: Redis;
}

/** A digest of a text: 16 hexadecimal digits. */
export function markOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** Returns the current primaries of a cluster, or the one server, in the order of their marks. */
export async function serversOf(client: RedisClient): Promise<Server[]> {
  if (!client.isCluster) return [{ mark: markOf(""), client: client as Redis }];
  const cluster = client as Cluster;
  // Like every command, this one connects a lazy client, or waits until it is connected.
  if (cluster.status !== "ready") await cluster.cluster("SLOTS");
  // ioredis learns about a new node when a command is redirected to it, but SCAN is never redirected.
  await new Promise<void>((resolve, reject) => {
    cluster.refreshSlotsCache((error) => (error ? reject(error) : resolve()));
  });
  const servers = cluster
    .nodes("master")
    .map((node) => ({ mark: markOf(`${node.options.host}:${node.options.port}`), client: node }));
  return servers.sort((a, b) => (a.mark < b.mark ? -1 : 1));
}

/**
 * Returns a digest that changes when keys move from one server to another. Each server reports its slots and its
 * configuration epoch, which increases with every slot that moves to it. For a moving slot it includes the number of its
 * remaining keys, which only decreases, because new keys are created at the target.
 */
export async function topologyOf(servers: readonly Server[]): Promise<string> {
  const [only] = servers;
  if (servers.length === 1 && only?.mark === markOf("")) return only.mark;
  const texts = await Promise.all(servers.map(({ client }) => describe(client)));
  return markOf(texts.sort().join("\n"));
}

async function describe(node: Redis): Promise<string> {
  const text = String(await node.cluster("NODES"));
  // <id> <address> <flags> <primary> <ping sent> <pong received> <epoch> <link> <slot> ...
  const words =
    text
      .split("\n")
      .find((line) => /^\S+ \S+ \S*myself/.test(line))
      ?.split(" ") ?? [];
  const [id, epoch, slots] = [words[0], words[6], words.slice(8)];
  const leaving = slots.flatMap((slot) => /^\[(\d+)->-/.exec(slot)?.[1] ?? []);
  const left = await Promise.all(leaving.map((slot) => node.cluster("COUNTKEYSINSLOT", Number(slot))));
  return [id, epoch, ...slots, "left", ...left].join(" ");
}
