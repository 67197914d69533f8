import type { Cluster, Redis } from "ioredis";
import type { RedisClient } from "./options.ts";

/** As long as store-core's longest pause between attempts, and short enough for several attempts within its 5 seconds. */
const LONGEST_WAIT_MS = 1_000;

/** The running waits: one per client for all calls, because Node.js warns of many listeners. */
const waits = new WeakMap<RedisClient, Promise<void>>();

/**
 * Waits for at most 1 s until a client without an offline queue is connected. Such a client rejects commands until then, and
 * attempts at random times would miss the short periods in which a bad connection works. The queue of ioredis would wait
 * too, but would also send commands that their callers gave up long ago.
 *
 * A cluster rejects commands until it has loaded its slots from a node. Then it connects to a node with the first command. It
 * sends further commands to random nodes meanwhile, and with a `natMap` their redirections do not lead it to the right node.
 */
export function untilReady(client: RedisClient): Promise<void> | undefined {
  if (client.options.enableOfflineQueue !== false) return;
  const known = waits.get(client);
  if (known) return known;
  if (client.status === "ready" || client.status === "end") return;
  if (client.status === "wait") client.connect().catch(() => undefined);
  const wait = new Promise<void>((resolve) => {
    const connecting = new Set<Redis>();
    const finish = () => {
      clearTimeout(timer);
      client.off("ready", onReady).off("end", finish);
      for (const node of connecting) node.off("ready", onReady);
      waits.delete(client);
      resolve();
    };
    const onReady = () => {
      const nodes = client.isCluster ? (client as Cluster).nodes("master") : [];
      const missing = nodes.filter(({ status }) => status !== "ready");
      if (missing.length === 0) return finish();
      for (const node of missing) {
        if (!connecting.has(node)) node.on("ready", onReady);
        connecting.add(node);
        if (node.status === "wait") node.connect().catch(() => undefined);
      }
    };
    const timer = setTimeout(finish, LONGEST_WAIT_MS);
    client.on("ready", onReady).on("end", finish);
  });
  waits.set(client, wait);
  return wait;
}
