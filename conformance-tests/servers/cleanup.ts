import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { hostname } from "node:os";
import type { ContainerRuntimeClient } from "testcontainers";

/** Its value tells a container's owner: the machine, the process there, and a random id. */
export const ownerLabel = "scrollback.owner";
const machine = hostname();
const owner = `${machine}/${process.pid}/${randomUUID()}`;

/** Marks a container as ours, and as this process'. */
export const ownerLabels = { [ownerLabel]: owner };

let watched: Promise<void> | undefined;

/**
 * Sees to it that no container outlives the process that started it, where Testcontainers' own cleaner cannot run: a
 * program waits for this process to end, however it ends, and removes what it left; and what processes left whose
 * program was killed too is removed now.
 */
export function cleanUpAfterwards(engine: ContainerRuntimeClient): Promise<void> {
  if (process.env.TESTCONTAINERS_RYUK_DISABLED !== "true") return Promise.resolve();
  watched ??= watch(engine);
  return watched;
}

async function watch({ container: client }: ContainerRuntimeClient): Promise<void> {
  const remove = `cat; docker ps --all --quiet --filter 'label=${ownerLabel}=${owner}' | xargs -r docker rm --force --volumes`;
  const watcher = spawn("sh", ["-c", remove], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "ignore"],
  });
  watcher.unref();
  if (watcher.stdin instanceof Socket) watcher.stdin.unref();

  for (const { Id, Labels } of await client.dockerode.listContainers({
    all: true,
    filters: { label: [ownerLabel] },
  })) {
    const [ownerMachine, pid] = (Labels[ownerLabel] ?? "").split("/");
    if (ownerMachine !== machine || isRunning(Number(pid))) continue;
    // Another process may be removing it at the same time.
    await client
      .getById(Id)
      .remove({ force: true, v: true })
      .catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
