import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import type { Assignment, Report } from "./agent-process.ts";

const program = new URL("agent-process.ts", import.meta.url);

/** One run of an agent in a separate process. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #reports: Report[] = [];
  #hasEnded = false;

  constructor(assignment: Assignment) {
    this.#child = fork(program, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] });
    this.#child.on("message", (report: Report) => this.#reports.push(report));
    // After the last message, unlike "exit".
    this.#child.on("disconnect", () => {
      this.#hasEnded = true;
    });
    this.#child.send(assignment);
  }

  async #next(): Promise<Report> {
    while (this.#reports.length === 0) {
      if (this.#hasEnded) throw new Error("the process ended without a word");
      await Promise.race([once(this.#child, "message"), once(this.#child, "disconnect")]);
    }
    return this.#reports.shift() as Report;
  }

  /** Returns when the model waits. */
  async waiting(): Promise<this> {
    const report = await this.#next();
    if (report.event !== "waiting") throw new Error(`it did not wait: ${JSON.stringify(report)}`);
    return this;
  }

  /** The outcome: done, or failed. */
  async outcome(): Promise<Exclude<Report, { event: "waiting" }>> {
    const report = await this.#next();
    if (report.event === "waiting") throw new Error("it waits");
    return report;
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    const exited = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await exited;
  }
}

/** Runs a turn in a separate process, which must succeed. */
export async function turn(assignment: Assignment): Promise<Extract<Report, { event: "done" }>> {
  const report = await new AgentProcess(assignment).outcome();
  if (report.event !== "done") throw new Error(`the run failed: ${JSON.stringify(report)}`);
  return report;
}
