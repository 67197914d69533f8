import { fork } from "node:child_process";
import type { Assignment, Report } from "./agent.ts";

/** An agent that works in a separate process. */
export interface AgentProcess {
  /** Settles when the process has ended; `"killed"` by a signal. Rejects when the agent failed. */
  readonly ended: Promise<"done" | "killed">;
  /** Kills the process at any point. */
  kill(): void;
}

/** Starts an agent's process. `onProgress` is called in the order of its reports. */
export function startAgent(
  assignment: Assignment,
  onProgress: (report: Exclude<Report, { event: "failed" }>) => void,
): AgentProcess {
  const child = fork(new URL("agent.ts", import.meta.url), {
    execArgv: [],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let complaints = "";
  child.stderr?.on("data", (chunk) => {
    complaints += chunk;
  });
  const ended = new Promise<"done" | "killed">((resolve, reject) => {
    child.on("message", (report: Report) => {
      if (report.event === "failed") complaints = report.message;
      else onProgress(report);
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve("done");
      else if (signal === "SIGKILL") resolve("killed");
      else reject(new Error(complaints.trim() || `ended with ${signal ?? `exit code ${code}`}`));
    });
  });
  child.send(assignment);
  return { ended, kill: () => void child.kill("SIGKILL") };
}
