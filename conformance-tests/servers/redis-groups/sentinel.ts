import type { ServerInfo } from "../../src/harness.ts";
import { retryFor } from "../retry.ts";
import { type Address, type RedisName, type RedisProcess, startRedisProcesses } from "./processes.ts";

const masterName = "scrollback";
const configPath = "/sentinel/sentinel.conf";
const config = `
sentinel monitor ${masterName} 127.0.0.1 6379 1
sentinel down-after-milliseconds ${masterName} 500
sentinel failover-timeout ${masterName} 3000
`;

/** A master, a replica, and a sentinel that can promote the replica. */
export interface RedisSentinel extends ServerInfo, AsyncDisposable {
  /** ioredis' options `sentinels`, `name` and `natMap`. */
  readonly connection: {
    readonly sentinels: Address[];
    readonly name: string;
    readonly natMap: Record<string, Address>;
  };
  /** The two servers with data, in the order in which they were started: the first one is the initial master. */
  readonly nodes: readonly [RedisProcess, RedisProcess];
  readonly sentinel: RedisProcess;
  /** The node that the sentinel currently reports as the master. */
  master(): Promise<RedisProcess>;
  /**
   * Makes the sentinel promote the replica, and returns when the old master follows the new one. Killing the master has the same
   * effect without the wait.
   */
  failover(): Promise<void>;
  /** Ends all processes and removes their data. */
  stop(): Promise<void>;
}

/**
 * Starts the three processes and returns when the sentinel can do a failover.
 *
 * @example
 * await using server = await startRedisSentinel();
 * const client = new Redis(server.connection);
 */
export async function startRedisSentinel(name: RedisName = "redis"): Promise<RedisSentinel> {
  const data = ["--repl-diskless-sync-delay", "0", "--replica-announce-ip", "127.0.0.1"];
  const { processes, natMap, ...group } = await startRedisProcesses(
    name,
    [
      { port: 6379, args: data },
      { port: 6380, args: [...data, "--replicaof", "127.0.0.1", "6379"] },
      { port: 26379, args: [configPath, "--sentinel"] },
    ],
    { [configPath]: config },
  );
  const [first, second, sentinel] = processes;
  const master = async (): Promise<RedisProcess> => {
    const [host, port] = (await sentinel.cli("SENTINEL", "GET-MASTER-ADDR-BY-NAME", masterName)).split("\n");
    return `${host}:${port}` === first.innerAddress ? first : second;
  };
  const untilReplicated = (): Promise<void> =>
    retryFor(40_000, async () => {
      const replicas = await sentinel.cli("SENTINEL", "REPLICAS", masterName);
      if (!/master-link-status\nok/.test(replicas))
        throw new Error(`the sentinel sees no replica:\n${replicas}`);
    });
  try {
    // Detects changes within one second instead of ten. Redis 6.2 lacks the command and only takes longer.
    await sentinel.cli("SENTINEL", "DEBUG", "INFO-PERIOD", "200", "PUBLISH-PERIOD", "200");
    await untilReplicated();
  } catch (error) {
    await group.stop();
    throw error;
  }
  return {
    ...group,
    connection: { sentinels: [{ host: sentinel.host, port: sentinel.port }], name: masterName, natMap },
    nodes: [first, second],
    sentinel,
    master,
    async failover() {
      const before = await master();
      await untilReplicated();
      await sentinel.cli("SENTINEL", "FAILOVER", masterName);
      await retryFor(40_000, async () => {
        if ((await before.cli("ROLE")).startsWith("master"))
          throw new Error("the old master has not stepped down");
      });
      await untilReplicated();
    },
    [Symbol.asyncDispose]: group.stop,
  };
}
