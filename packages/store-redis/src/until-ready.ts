import type { RedisClient } from "./options.ts";

/** As long as store-core's longest pause between attempts, and short enough for several attempts within its 5 seconds. */
const LONGEST_WAIT_MS = 1_000;

/** The running waits: one per client for all calls, because Node.js warns of many listeners. */
const waits = new WeakMap<RedisClient, Promise<void>>();

/**
 * Waits for at most 1 s until a client without an offline queue is connected. Such a client rejects commands until then, and
 * attempts at random times would miss the short periods in which a bad connection works. The queue of ioredis would wait
 * too, but would also send commands that their callers gave up long ago. This includes a cluster, which rejects commands
 * until it has loaded its slots from a node, even if the connections to the nodes have queues.
 */
export function untilReady(client: RedisClient): Promise<void> | undefined {
  if (client.options.enableOfflineQueue !== false || client.status === "ready") return;
  if (client.status === "end") return;
  if (client.status === "wait") client.connect().catch(() => undefined);
  const known = waits.get(client);
  if (known) return known;
  const wait = new Promise<void>((resolve) => {
    const finish = () => {
      clearTimeout(timer);
      client.off("ready", finish).off("end", finish);
      waits.delete(client);
      resolve();
    };
    const timer = setTimeout(finish, LONGEST_WAIT_MS);
    client.on("ready", finish).on("end", finish);
  });
  waits.set(client, wait);
  return wait;
}
