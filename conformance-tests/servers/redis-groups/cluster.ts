import type { ServerInfo } from "../../src/harness.ts";
import { retryFor } from "../retry.ts";
import { type Address, type RedisName, type RedisProcess, startRedisProcesses } from "./processes.ts";

/** A Redis Cluster of three masters without replicas. */
export interface RedisCluster extends ServerInfo, AsyncDisposable {
  /** The first argument of ioredis' `Cluster`. */
  readonly startupNodes: Address[];
  /** ioredis' option `natMap`: the nodes report addresses that are valid only inside their container. */
  readonly natMap: Record<string, Address>;
  /** The three masters. While one is down, its slots have no owner, and the cluster serves no other slot either. */
  readonly nodes: readonly [RedisProcess, RedisProcess, RedisProcess];
  /** Returns when every node reports the cluster as complete, about two seconds after a killed node is back. */
  untilWhole(): Promise<void>;
  /** Ends the cluster and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a cluster and returns when all slots are served.
 *
 * @param moreArgs more arguments for the command line of each node.
 * @example
 * await using server = await startRedisCluster();
 * const client = new Cluster(server.startupNodes, { natMap: server.natMap });
 */
export async function startRedisCluster(
  name: RedisName = "redis",
  moreArgs: readonly string[] = [],
): Promise<RedisCluster> {
  const args = [
    ...moreArgs,
    "--cluster-enabled",
    "yes",
    "--cluster-node-timeout",
    "1000",
    "--cluster-announce-ip",
    "127.0.0.1",
  ];
  const { processes: nodes, ...group } = await startRedisProcesses(name, [
    { port: 7001, args },
    { port: 7002, args },
    { port: 7003, args },
  ]);
  const untilWhole = async (): Promise<void> => {
    for (const node of nodes) {
      await retryFor(20_000, async () => {
        const info = await node.cli("CLUSTER", "INFO");
        if (!info.includes("cluster_state:ok")) throw new Error(`the cluster is incomplete:\n${info}`);
      });
    }
  };
  try {
    const addresses = nodes.map((node) => node.innerAddress);
    await nodes[0].cli("--cluster", "create", ...addresses, "--cluster-yes");
    await untilWhole();
  } catch (error) {
    await group.stop();
    throw error;
  }
  const startupNodes = nodes.map(({ host, port }) => ({ host, port }));
  return { ...group, nodes, startupNodes, untilWhole, [Symbol.asyncDispose]: group.stop };
}
