import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { type ContainerRuntimeClient, getContainerRuntimeClient } from "testcontainers";
import { environment, hasProgram, installPrograms, type Packages, say, step } from "./programs.ts";
import { retryFor } from "./retry.ts";

const logFile = "/var/log/scrollback-dockerd.log";
/** Where the official images come from. */
const REGISTRY = "https://registry-1.docker.io/v2/";

/** What to install for {@link startEngine}. */
export const enginePrograms: Packages = { dockerd: "docker.io", "update-ca-certificates": "ca-certificates" };

/** The Docker engine that Testcontainers finds, or undefined if none replies. */
export async function findEngine(): Promise<ContainerRuntimeClient | undefined> {
  try {
    return await getContainerRuntimeClient();
  } catch {
    return undefined;
  }
}

let starting: Promise<ContainerRuntimeClient> | undefined;

/** Installs an engine if there is none, and starts it if none replies. It keeps running after this process has ended. */
export function startEngine(): Promise<ContainerRuntimeClient> {
  starting ??= start();
  return starting;
}

async function start(): Promise<ContainerRuntimeClient> {
  const running = await findEngine();
  if (running !== undefined) return running;
  say("no Docker engine answers");
  if (!hasProgram("dockerd")) await installPrograms(enginePrograms);
  // In newer suites the client is a separate package.
  await installPrograms({ docker: "docker-cli" });
  return await step(`starting dockerd, which logs to ${logFile}`, async () => {
    const log = openSync(logFile, "a");
    spawn("dockerd", { detached: true, stdio: ["ignore", log, log], env: environment }).unref();
    try {
      return await retryFor(30_000, getContainerRuntimeClient);
    } catch (error) {
      throw new Error(`dockerd did not start within 30 s; see ${logFile}`, { cause: error });
    }
  });
}

/** Why no engine on this machine could pull an official image, or undefined if their registry answers. */
export async function registryRefusal(): Promise<string | undefined> {
  try {
    await (await fetch(REGISTRY, { signal: AbortSignal.timeout(5_000) })).body?.cancel();
    return undefined;
  } catch (error) {
    return `${REGISTRY} does not answer: ${String(error instanceof Error ? (error.cause ?? error) : error)}`;
  }
}
