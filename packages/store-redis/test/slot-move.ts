import { Redis } from "ioredis";
import type { RedisCluster } from "../../../conformance-tests/test/fixtures/redis-groups.ts";
import { threadKeys } from "../src/keys.ts";
import { opened } from "./clients.ts";

/** The move of a slot from the node with these keys to another node. */
export interface SlotMove {
  readonly keys: readonly string[];
  readonly target: Redis;
  migrate(key: string): Promise<unknown>;
  /** Migrates the remaining keys of the slot, which other threads may share, and assigns the slot to the target. */
  end(): Promise<void>;
}

/** The keys of an existing thread. */
export function keysOf(keyPrefix: string, threadId: string): string[] {
  const { messages, meta } = threadKeys(keyPrefix, threadId);
  return [messages, meta];
}

/** Begins to move the slot of these keys, like a reshard. @param port of the target node; default: the next node. */
export async function beginMove(
  server: RedisCluster,
  keys: readonly string[],
  port?: number,
): Promise<SlotMove> {
  const nodes = server.nodes.map(({ host, port }) => opened(new Redis({ host, port })));
  const slot = await (nodes[0] as Redis).cluster("KEYSLOT", keys[0] ?? "");
  const counts = await Promise.all(nodes.map((node) => node.cluster("COUNTKEYSINSLOT", slot)));
  const from = counts.findIndex((count) => count > 0);
  const to =
    port === undefined ? (from + 1) % nodes.length : server.nodes.findIndex((node) => node.port === port);
  const [source, target] = [nodes[from] as Redis, nodes[to] as Redis];
  const [sourceId, targetId] = [await source.call("CLUSTER", "MYID"), await target.call("CLUSTER", "MYID")];
  const [innerHost = "", innerPort = ""] = server.nodes[to]?.innerAddress.split(":") ?? [];
  await target.call("CLUSTER", "SETSLOT", slot, "IMPORTING", String(sourceId));
  await source.call("CLUSTER", "SETSLOT", slot, "MIGRATING", String(targetId));
  const migrate = (key: string) => source.call("MIGRATE", innerHost, innerPort, key, 0, 5_000);
  return {
    keys,
    target,
    migrate,
    async end() {
      for (const key of await source.cluster("GETKEYSINSLOT", slot, 1_000)) await migrate(key);
      for (const node of [target, source, ...nodes])
        await node.call("CLUSTER", "SETSLOT", slot, "NODE", String(targetId));
    },
  };
}
