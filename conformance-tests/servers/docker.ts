import { spawn } from "node:child_process";
import { randomInt, randomUUID } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { environment, run } from "./programs.ts";

// Docker by its command-line program.

/** How a container is ended: at once, as by a crash, or so that its program writes what it has acknowledged. */
export type KillSignal = "SIGKILL" | "SIGTERM";

/** A container, with controls for fault tests. */
export interface RunningContainer {
  readonly host: string;
  /** The ports on {@link host} that lead to those inside. They stay the same over {@link kill} and {@link start}. */
  readonly ports: readonly number[];
  /** Runs a program inside and returns its standard output. Rejects if it fails. */
  exec(command: readonly string[]): Promise<string>;
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
  readonly command: readonly string[];
  readonly ports: readonly number[];
  /** A folder of files that is created before the command runs. */
  readonly folder?: { readonly path: string; readonly files: Readonly<Record<string, string>> };
}

/** Its value identifies a container's owner: the machine, the process, and a random id. */
export const ownerLabel = "scrollback.owner";
const owner = `${hostname()}/${process.pid}/${randomUUID()}`;

const docker = async (...args: string[]) => (await run("docker", args)).trim();

/** The name or address at which this process reaches the ports of containers. */
export function containerHost(): string {
  const { DOCKER_HOST = "" } = process.env;
  return URL.canParse(DOCKER_HOST) ? new URL(DOCKER_HOST).hostname || "localhost" : "localhost";
}

/** Whether a Docker engine replies. */
export async function hasEngine(): Promise<boolean> {
  return await docker("version").then(
    () => true,
    () => false,
  );
}

export async function hasImage(image: string): Promise<boolean> {
  return (await docker("images", "--quiet", image).catch(() => "")) !== "";
}

/** Starts a container and returns when its ports are bound; the server inside may not be ready yet. */
export async function startContainer(options: ContainerOptions): Promise<RunningContainer> {
  watched ??= removeAfterwards();
  await watched;
  for (let attempt = 1; ; attempt++) {
    const ports = await Promise.all(options.ports.map(freePort));
    const published = ports.flatMap((port, index) => ["--publish", `${port}:${options.ports[index]}`]);
    const label = ["--label", `${ownerLabel}=${owner}`];
    const id = await docker("create", ...label, ...published, options.image, ...options.command);
    try {
      if (options.folder) await copyFolder(id, options.folder);
      await docker("start", id);
      return running(id, ports);
    } catch (error) {
      const log = await logOf(id);
      await docker("rm", "--force", "--volumes", id);
      // Between finding a port free and binding it, another process may have taken it.
      if (attempt < 5 && /port is already allocated|address already in use/i.test(String(error))) continue;
      throw new Error(`${options.image} did not start: ${String(error)}\n${log}`, { cause: error });
    }
  }
}

function running(id: string, ports: readonly number[]): RunningContainer {
  let stopped: Promise<unknown> | undefined;
  return {
    host: containerHost(),
    ports,
    exec: (command) => run("docker", ["exec", id, ...command]),
    log: () => logOf(id),
    isRunning: async () => (await docker("inspect", "--format", "{{.State.Running}}", id)) === "true",
    async kill(signal = "SIGKILL") {
      await docker("kill", "--signal", signal, id);
      await docker("wait", id);
    },
    start: async () => void (await docker("start", id)),
    pause: async () => void (await docker("pause", id)),
    unpause: async () => void (await docker("unpause", id)),
    async stop() {
      stopped ??= docker("rm", "--force", "--volumes", id);
      await stopped;
    },
  };
}

const logOf = (id: string) => run("sh", ["-c", `docker logs --tail 40 ${id} 2>&1`]);

async function copyFolder(
  id: string,
  { path, files }: NonNullable<ContainerOptions["folder"]>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-files-"));
  try {
    await chmod(folder, 0o755);
    for (const [name, content] of Object.entries(files))
      await writeFile(join(folder, name), content, { mode: 0o644 });
    await docker("cp", folder, `${id}:${path}`);
  } finally {
    await rm(folder, { recursive: true });
  }
}

let watched: Promise<void> | undefined;

/**
 * Removes the containers of this process when it ends: a program waits for the end, by any cause. Containers of earlier processes whose
 * program was killed too are removed now.
 */
async function removeAfterwards(): Promise<void> {
  const remove = `cat; docker ps --all --quiet --filter 'label=${ownerLabel}=${owner}' | xargs -r docker rm --force --volumes`;
  const stdio = ["pipe", "ignore", "ignore"] as const;
  const watcher = spawn("sh", ["-c", remove], {
    cwd: "/",
    detached: true,
    stdio: [...stdio],
    env: environment,
  });
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();
  const format = `{{.ID}} {{.Label "${ownerLabel}"}}`;
  const found = await docker("ps", "--all", "--filter", `label=${ownerLabel}`, "--format", format);
  for (const line of found.split("\n")) {
    const [id = "", machine, pid] = line.split(/[ /]/);
    if (machine !== hostname() || isAlive(Number(pid))) continue;
    // Another process may be removing it at the same time.
    await docker("rm", "--force", "--volumes", id).catch(() => undefined);
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Below the range that outgoing connections use, so that a killed server finds its port free when it comes back. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}
