import { spawn } from "node:child_process";
import { openSync } from "node:fs";
import { type ContainerRuntimeClient, getContainerRuntimeClient } from "testcontainers";
import { environment, installPrograms, say } from "./programs.ts";
import { retryFor } from "./retry.ts";

const logFile = "/var/log/scrollback-dockerd.log";

/** The Docker engine that Testcontainers finds, or undefined if none replies. */
export async function findEngine(): Promise<ContainerRuntimeClient | undefined> {
  try {
    return await getContainerRuntimeClient();
  } catch {
    return undefined;
  }
}

/** Installs an engine if there is none, and starts it. It keeps running after this process has ended. */
export async function startEngine(): Promise<ContainerRuntimeClient> {
  say("no Docker engine answers");
  await installPrograms({ dockerd: "docker.io", "update-ca-certificates": "ca-certificates" });
  // In newer suites the client is a separate package.
  await installPrograms({ docker: "docker-cli" });
  say(`starting dockerd, which logs to ${logFile}`);
  const log = openSync(logFile, "a");
  spawn("dockerd", { detached: true, stdio: ["ignore", log, log], env: environment }).unref();
  try {
    return await retryFor(30_000, getContainerRuntimeClient);
  } catch (error) {
    throw new Error(`dockerd did not start within 30 s; see ${logFile}`, { cause: error });
  }
}
