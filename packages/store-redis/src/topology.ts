import { createHash } from "node:crypto";
import type { Cluster, Redis } from "ioredis";
import type { RedisClient } from "./options.ts";

/** A server that holds threads. */
export interface Server {
  /** Tells it from the others, without its address. */
  readonly mark: string;
  readonly client: Redis;
}

/** 16 hexadecimal digits in the place of a text. */
export function markOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 16);
}

/** The primaries of a cluster as it is now, or the one server, in the order of their marks. */
export async function serversOf(client: RedisClient): Promise<Server[]> {
  if (!client.isCluster) return [{ mark: markOf(""), client: client as Redis }];
  const cluster = client as Cluster;
  // As every command does, this one connects a client that is lazy, or waits for it.
  if (cluster.status !== "ready") await cluster.cluster("SLOTS");
  // ioredis learns of a new node when a command is redirected there, which SCAN never is.
  await new Promise<void>((resolve, reject) => {
    cluster.refreshSlotsCache((error) => (error ? reject(error) : resolve()));
  });
  const servers = cluster
    .nodes("master")
    .map((node) => ({ mark: markOf(`${node.options.host}:${node.options.port}`), client: node }));
  return servers.sort((a, b) => (a.mark < b.mark ? -1 : 1));
}

/**
 * What tells whether keys have moved from one server to another: while it stays the same, none has. Each server tells its slots, and
 * the epoch of its configuration, which rises with every slot that moved to it. Of a slot that is moving, the number of keys that
 * are still there only falls, as new ones are made where it moves to.
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
