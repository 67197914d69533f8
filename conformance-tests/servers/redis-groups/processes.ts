import type { ServerInfo } from "../../src/harness.ts";
import { startContainer } from "../container.ts";
import { findImage } from "../image.ts";
import { retryFor } from "../retry.ts";
import { servers } from "../servers.ts";

/** The servers from which a cluster or a sentinel group can be made. */
export type RedisName = "redis" | "redis-7" | "redis-6.2" | "valkey";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One of several Redis processes in one container, with controls for fault tests. */
export interface RedisProcess extends Address {
  /** Its address among the processes, and its key in the `natMap`, such as `"127.0.0.1:7001"`. */
  readonly innerAddress: string;
  /** Runs the server's command-line program on it and returns the output, which may be the text of an error. */
  cli(...args: string[]): Promise<string>;
  /**
   * Ends the process with SIGKILL, as a crash would. Its files stay. The engine still accepts connections for it and closes them
   * at once, so clients see a reset connection, not a refused one.
   */
  kill(): Promise<void>;
  /** Starts it again after {@link kill} and returns when it replies, possibly before the others accept it again. */
  start(): Promise<void>;
  /** Freezes it: connections stay open without replies. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
}

/** Redis processes that know each other by loopback addresses, which are valid only inside their container. */
export interface RedisProcesses<Processes> extends ServerInfo {
  readonly processes: Processes;
  /**
   * Maps the addresses that the processes report to addresses that are valid outside the container, for ioredis' option `natMap`.
   */
  readonly natMap: Record<string, Address>;
  /** Ends all processes and removes their data. */
  stop(): Promise<void>;
}

export interface ProcessOptions {
  readonly port: number;
  readonly args: readonly string[];
}

/** Starts the processes in their order, each one when the previous one replies. */
export async function startRedisProcesses<
  const Options extends readonly [ProcessOptions, ...ProcessOptions[]],
>(
  name: RedisName,
  options: Options,
  files: Readonly<Record<string, string>> = {},
): Promise<RedisProcesses<{ readonly [Index in keyof Options]: RedisProcess }>> {
  const { serverProgram, cliProgram, identify } = servers[name];
  const container = await startContainer({
    image: await findImage(servers[name]),
    // A waiting shell reaps the killed processes; `kill` below waits for that.
    command: ["sh", "-c", "while sleep 3600; do :; done"],
    ports: options.map(({ port }) => port),
    files,
  });
  const { host } = container;

  function processOf({ port, args }: ProcessOptions): RedisProcess {
    const folder = `/data/${port}`;
    const place = ["--dir", folder, "--pidfile", `${folder}/pid`, "--logfile", `${folder}/log`];
    const common = [
      "--port",
      `${port}`,
      "--daemonize",
      "yes",
      "--protected-mode",
      "no",
      "--save",
      "",
      ...place,
    ];
    const address = { host, port: container.mappedPort(port) };
    const signal = async (script: string): Promise<void> => {
      await container.exec(["sh", "-c", `pid=$(cat ${folder}/pid); ${script}`]);
    };
    return {
      ...address,
      innerAddress: `127.0.0.1:${port}`,
      cli: (...args) => container.exec([cliProgram, "-p", `${port}`, ...args]),
      kill: () => signal("kill -KILL $pid; while kill -0 $pid; do sleep 0.01; done 2>/dev/null"),
      pause: () => signal("kill -STOP $pid"),
      unpause: () => signal("kill -CONT $pid"),
      async start() {
        await container.exec(["mkdir", "-p", folder]);
        await container.exec([serverProgram, ...args, ...common]);
        await retryFor(20_000, () => identify(address));
      },
    };
  }

  const processes = options.map(processOf) as { [Index in keyof Options]: RedisProcess };
  try {
    for (const process of processes) await process.start();
    const natMap = Object.fromEntries(
      processes.map(({ innerAddress, host, port }) => [innerAddress, { host, port }] as const),
    );
    return { ...(await identify(processes[0])), processes, natMap, stop: container.stop };
  } catch (error) {
    await container.stop();
    throw error;
  }
}
