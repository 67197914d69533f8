import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Socket } from "node:net";
import { hostname } from "node:os";
import type { ContainerRuntimeClient } from "testcontainers";

/** Its value identifies a container's owner: the machine, the process, and a random id. */
export const ownerLabel = "scrollback.owner";
const machine = hostname();
const owner = `${machine}/${process.pid}/${randomUUID()}`;

/** Marks a container as started by these tests and by this process. */
export const ownerLabels = { [ownerLabel]: owner };

let watched: Promise<void> | undefined;

/**
 * Removes containers when the process that started them ends, where Testcontainers' own cleaner cannot run. A
 * program waits for the end of this process, by any cause, and removes its containers. Containers of earlier processes
 * whose program was killed too are removed now.
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
