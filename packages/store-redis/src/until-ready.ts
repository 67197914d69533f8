import type { RedisClient } from "./options.ts";

/** As long as store-core's longest pause between attempts, and short enough for several attempts in its 5 seconds. */
const LONGEST_WAIT_MS = 1_000;

/** The waits under way: one for all calls, as a client warns of many listeners. */
const waits = new WeakMap<RedisClient, Promise<void>>();

/**
 * Waits for a client without an offline queue while it connects, for at most a second. Such a client refuses commands until then,
 * and attempts at random moments would miss the short ones in which a poor connection works. A queue of ioredis would wait
 * too, but send what its caller has given up long ago. A cluster is waited for too: it refuses commands until it has asked one
 * of its nodes for its slots, though the connections to the nodes have queues.
 */
export function untilReady(client: RedisClient): Promise<void> | undefined {
  if (client.options.enableOfflineQueue !== false || client.status === "ready") return;
  if (client.status === "end") return;
  if (client.status === "wait") client.connect().catch(() => undefined);
  const known = waits.get(client);
  if (known) return known;
  const wait = new Promise<void>((resolve) => {
    const settle = () => {
      clearTimeout(timer);
      client.off("ready", settle).off("end", settle);
      waits.delete(client);
      resolve();
    };
    const timer = setTimeout(settle, LONGEST_WAIT_MS);
    client.on("ready", settle).on("end", settle);
  });
  waits.set(client, wait);
  return wait;
}
