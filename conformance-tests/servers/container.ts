import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers";
import { cleanUpAfterwards, ownerLabels } from "./cleanup.ts";

/** How a container is ended: at once, as by a crash, or so that its program writes what it has acknowledged. */
export type KillSignal = "SIGKILL" | "SIGTERM";

/** A container, with controls for fault tests. */
export interface RunningContainer {
  readonly host: string;
  /** The port on {@link host} that leads to `port` inside. It stays the same over {@link kill} and {@link start}. */
  mappedPort(port: number): number;
  /** Runs a program inside and returns its standard output. Rejects if it fails. */
  exec(command: string[]): Promise<string>;
  /** The end of its output so far, of both streams. */
  log(): Promise<string>;
  isRunning(): Promise<boolean>;
  /** Ends it, by default with SIGKILL. Its files stay. */
  kill(signal?: KillSignal): Promise<void>;
  /** Starts it again after {@link kill}. */
  start(): Promise<void>;
  /** Freezes its processes: connections stay open without replies. */
  pause(): Promise<void>;
  unpause(): Promise<void>;
  /** Removes it with its files. Can be called repeatedly, and in any state. */
  stop(): Promise<void>;
}

export interface ContainerOptions {
  readonly image: string;
  readonly command: string[];
  readonly ports: readonly number[];
  /** Files that are created before the command runs, by absolute path. */
  readonly files?: Readonly<Record<string, string>>;
}

/** The name or address at which this process reaches the ports of containers. */
export async function containerHost(): Promise<string> {
  return (await getContainerRuntimeClient()).info.containerRuntime.host;
}

/** Starts a container and returns when its ports are bound; the server inside may not be ready yet. */
export async function startContainer(options: ContainerOptions): Promise<RunningContainer> {
  await cleanUpAfterwards(await getContainerRuntimeClient());
  for (let attempt = 1; ; attempt++) {
    const hostPorts = new Map<number, number>();
    for (const port of options.ports) hostPorts.set(port, await freePort());
    const container = new ServerContainer(options.image)
      .withCommand(options.command)
      .withLabels(ownerLabels)
      .withExposedPorts(...[...hostPorts].map(([inside, host]) => ({ container: inside, host })))
      .withCopyContentToContainer(
        Object.entries(options.files ?? {}).map(([target, content]) => ({ target, content, mode: 0o644 })),
      )
      .withWaitStrategy(Wait.forAll([]));
    try {
      return await running(await container.start());
    } catch (error) {
      const log = await container.removeRemains();
      // Between finding a port free and binding it, another process may have taken it.
      if (attempt < 5 && /port is already allocated|address already in use/i.test(String(error))) continue;
      throw new Error(`${options.image} did not start: ${String(error)}\n${log}`, { cause: error });
    }
  }
}

class ServerContainer extends GenericContainer {
  #id: string | undefined;
  readonly #started = new AbortController();
  #tellEnd: (error: Error) => void = () => undefined;

  /** Rejects as soon as the container has ended; Testcontainers would wait ten seconds for its ports. */
  override async start(): Promise<StartedTestContainer> {
    const ended = new Promise<never>((_, reject) => {
      this.#tellEnd = reject;
    });
    try {
      return await Promise.race([super.start(), ended]);
    } finally {
      this.#started.abort();
    }
  }

  protected override async containerCreated(id: string): Promise<void> {
    this.#id = id;
    const { container: client } = await getContainerRuntimeClient();
    client
      .getById(id)
      .wait({ condition: "next-exit", abortSignal: this.#started.signal })
      .then(
        () => this.#tellEnd(new Error("it ended")),
        () => undefined,
      );
  }

  /** Removes a container that Testcontainers created but could not start, and returns its log. */
  async removeRemains(): Promise<string> {
    if (this.#id === undefined) return "";
    const { container: client } = await getContainerRuntimeClient();
    const container = client.getById(this.#id);
    const log = await readLog(this.#id);
    await container.remove({ force: true, v: true });
    return log;
  }
}

async function running(started: StartedTestContainer): Promise<RunningContainer> {
  const client = await getContainerRuntimeClient();
  const container = client.container.getById(started.getId());
  let stopped: Promise<void> | undefined;
  return {
    host: started.getHost(),
    mappedPort: (port) => started.getMappedPort(port),
    async exec(command) {
      const { exitCode, stdout, stderr } = await started.exec(command);
      if (exitCode !== 0)
        throw new Error(`${command.join(" ")} failed with ${exitCode}: ${stderr || stdout}`);
      return stdout;
    },
    log: () => readLog(started.getId()),
    isRunning: async () => (await container.inspect()).State.Running,
    async kill(signal: KillSignal = "SIGKILL") {
      await container.kill({ signal });
      await container.wait({ condition: "not-running" });
    },
    start: () => container.start(),
    pause: () => container.pause(),
    unpause: () => container.unpause(),
    stop() {
      stopped ??= container.remove({ force: true, v: true });
      return stopped;
    },
  };
}

async function readLog(id: string): Promise<string> {
  const { container: client } = await getContainerRuntimeClient();
  // Not with Testcontainers, whose log does not end while the container runs.
  const frames = await client.getById(id).logs({ stdout: true, stderr: true, tail: 40, follow: false });
  let log = "";
  for (let start = 0; start < frames.length; ) {
    const end = start + 8 + frames.readUInt32BE(start + 4);
    log += frames.toString("utf8", start + 8, end);
    start = end;
  }
  return log;
}

/** Below the range that outgoing connections use, so that a killed server finds its port free when it comes back. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
