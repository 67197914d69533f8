import type { ServerInfo } from "../../src/harness.ts";
import { startContainer } from "../container.ts";
import { prepareImage } from "../image.ts";
import { retryFor } from "../retry.ts";
import { servers } from "../servers.ts";

/** The servers that a cluster or a sentinel group can be made of. */
export type RedisName = "redis" | "redis-7" | "redis-6.2" | "valkey";

export interface Address {
  readonly host: string;
  readonly port: number;
}

/** One of several Redis processes in one container, and the faults that tests can put upon it. */
export interface RedisProcess extends Address {
  /** What the processes call it among themselves, and its key in the `natMap`, such as `"127.0.0.1:7001"`. */
  readonly innerAddress: string;
  /** Runs the server's own command-line program on it and gives what that printed, which may be an error's text. */
  cli(...args: string[]): Promise<string>;
  /**
   * Ends the process with SIGKILL, as a crash would. Its files stay. The engine goes on taking connections for it, and
   * closes them at once, so that clients see a reset connection rather than a refused one.
   */
  kill(): Promise<void>;
  /** Starts it again after {@link kill} and returns when it answers, which may be before the others take it back. */
  start(): Promise<void>;
  /** Freezes it: connections stay open and nothing answers. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
}

/** Redis processes that know each other by loopback addresses, which hold inside their container only. */
export interface RedisProcesses<Processes> extends ServerInfo {
  readonly processes: Processes;
  /** From the addresses that the processes tell to those that work from outside, for ioredis' option `natMap`. */
  readonly natMap: Record<string, Address>;
  /** Ends all processes and removes their data. */
  stop(): Promise<void>;
}

export interface ProcessOptions {
  readonly port: number;
  readonly args: readonly string[];
}

/** Starts the processes in their order, each when the one before it answers. */
export async function startRedisProcesses<
  const Options extends readonly [ProcessOptions, ...ProcessOptions[]],
>(
  name: RedisName,
  options: Options,
  files: Readonly<Record<string, string>> = {},
): Promise<RedisProcesses<{ readonly [Index in keyof Options]: RedisProcess }>> {
  const { serverProgram, cliProgram, identify } = servers[name];
  const container = await startContainer({
    image: await prepareImage(servers[name]),
    // A shell that waits takes leave of the processes that are killed, which `kill` below watches for.
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
