import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServerControl } from "./faults.ts";

/** A server that runs as a process of this machine. */
export interface SpawnedServer extends ServerControl, AsyncDisposable {
  /** Ends it permanently. Further calls have no effect. */
  stop(): Promise<void>;
}

/** The options of {@link spawnServer}. */
export interface SpawnedServerOptions {
  /** The program, and its arguments. The same ones at each start, so name a fixed port and a data directory. */
  readonly command: readonly [program: string, ...args: string[]];
  /** Sends a request with its own client. Rejects while the server does not reply. */
  answers(): Promise<unknown>;
  /** The time limit of a start, in milliseconds. Default 20,000. */
  readonly patienceMs?: number;
  /** The environment variables. Default: those of this process. */
  readonly env?: NodeJS.ProcessEnv;
}

const PAUSE_MS = 25;
/** The number of characters of the server's output in the error of a failed start. */
const LOG_LENGTH = 4_000;

/**
 * Starts a server on this machine, with the controls that `runFaults` needs, and returns when it replies. It ends with
 * this process. Kill and pause also affect its child processes, which are found with the program `ps`. For Linux and macOS.
 *
 * @throws an Error with the end of the server's output, if the server ends or does not reply in time.
 * @example
 * await using server = await spawnServer({
 *   command: ["etcd", "--data-dir", folder, "--listen-client-urls", url, "--advertise-client-urls", url],
 *   answers: () => fetch(`${url}/health`),
 * });
 */
export async function spawnServer(options: SpawnedServerOptions): Promise<SpawnedServer> {
  const server = new SpawnedProcess(options);
  await server.start();
  return server;
}

class SpawnedProcess implements SpawnedServer {
  readonly #options: SpawnedServerOptions;
  readonly #endWithThisProcess = () => {
    if (this.#isRunning()) this.#signal("SIGKILL");
  };
  #child: ChildProcess | undefined;
  #log = "";

  constructor(options: SpawnedServerOptions) {
    this.#options = options;
    process.on("exit", this.#endWithThisProcess);
  }

  async start(): Promise<void> {
    if (this.#isRunning()) throw new Error("the server is running; kill it first");
    const [program, ...args] = this.#options.command;
    this.#log = "";
    const child = spawn(program, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: this.#options.env ?? process.env,
    });
    this.#child = child;
    child.on("error", (error) => this.#write(String(error)));
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => this.#write(text));
    }
    await this.#untilAnswering();
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (!child || !this.#isRunning()) return;
    const ended = once(child, "exit");
    this.#signal("SIGKILL");
    await ended;
  }

  async pause(): Promise<void> {
    this.#signal("SIGSTOP");
  }

  async unpause(): Promise<void> {
    this.#signal("SIGCONT");
  }

  async stop(): Promise<void> {
    process.off("exit", this.#endWithThisProcess);
    await this.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #isRunning(): boolean {
    const { pid, exitCode, signalCode } = this.#child ?? {};
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  #write(text: string): void {
    this.#log = (this.#log + text).slice(-LOG_LENGTH);
  }

  async #untilAnswering(): Promise<void> {
    const { answers, patienceMs = 20_000, command } = this.#options;
    const deadline = performance.now() + patienceMs;
    for (;;) {
      let problem = "it ended";
      if (this.#isRunning()) {
        try {
          await answers();
          return;
        } catch (error) {
          problem = String(error);
        }
      }
      if (!this.#isRunning() || performance.now() > deadline) {
        await this.stop();
        // Its last output may arrive after its end.
        await sleep(PAUSE_MS);
        throw new Error(`${command[0]} did not start: ${problem}\n${this.#log}`);
      }
      await sleep(PAUSE_MS);
    }
  }

  /** Signals the server and its child processes: a server may have a process for each connection, in separate sessions. */
  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined || !this.#isRunning()) throw new Error("the server is not running");
    for (const one of withDescendants(pid)) {
      try {
        process.kill(one, signal);
      } catch {
        // It has ended meanwhile.
      }
    }
  }
}

/** A process and all its descendants. */
function withDescendants(pid: number): number[] {
  const all = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const found = [pid];
  for (const parent of found) {
    for (const [child = 0, above] of all) if (above === parent) found.push(child);
  }
  return found;
}
