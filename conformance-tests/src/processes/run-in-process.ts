import { fork } from "node:child_process";
import type { Harness } from "../harness.ts";
import type { JobInput, JobName } from "./jobs.ts";
import type { Report } from "./worker.ts";

/** A job that another process does. */
export interface RemoteJob {
  /** Its reports so far. */
  readonly progress: readonly string[];
  /** Rejects when the process fails, or ends before the job. */
  readonly result: Promise<void>;
  /** Ends the process as a crash would, at any time. */
  kill(): Promise<void>;
}

/** The differences of another process. */
export interface RemoteOptions {
  /** The error of its clock in milliseconds. Default 0. */
  readonly clockOffsetMs?: number;
}

// The same file before and after the build.
const worker = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./worker.js", import.meta.url);

/** Starts another process that does a job with its own client. */
export function runInProcess<Name extends JobName>(
  childProcess: NonNullable<Harness["childProcess"]>,
  job: Name,
  input: JobInput<Name>,
  { clockOffsetMs = 0 }: RemoteOptions = {},
): RemoteJob {
  const child = fork(worker, { execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const progress: string[] = [];
  let complaints = "";
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const result = new Promise<void>((resolve, reject) => {
    child.on("message", (report: Report) => {
      if ("progress" in report) progress.push(report.progress);
      else if ("isDone" in report) resolve();
      else reject(new Error(`another process failed at "${job}": ${report.error}`));
    });
    child.on("error", reject);
    child.on("close", (code, signal) =>
      reject(new Error(`another process ended at "${job}" (${signal ?? code}) ${complaints}`)),
    );
  });
  // The caller of kill does not wait for the result.
  result.catch(() => {});
  child.send({ module: childProcess.module.href, data: childProcess.data, job, input, clockOffsetMs });
  return {
    progress,
    result,
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const closed = new Promise((resolve) => child.once("close", resolve));
      child.kill("SIGKILL");
      await closed;
    },
  };
}
