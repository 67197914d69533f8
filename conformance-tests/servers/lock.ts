import { spawn } from "node:child_process";
import { once } from "node:events";
import { say } from "./programs.ts";

const file = "/var/lock/scrollback-servers.lock";

/**
 * Runs `work` under a lock of this machine. The program that holds the lock ends with its standard
 * input, so the lock is released as soon as this process has ended, by any cause.
 */
export async function alone<T>(work: () => Promise<T>): Promise<T> {
  const holder = spawn("flock", [file, "sh", "-c", "echo held; cat"], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting = setTimeout(() => say("waiting for another process that prepares servers"), 500);
  try {
    await once(holder.stdout, "data");
    clearTimeout(waiting);
    return await work();
  } finally {
    clearTimeout(waiting);
    const ended = once(holder, "exit");
    holder.stdin.end();
    await ended;
  }
}
