import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Namespace } from "./client.ts";

const program = fileURLToPath(new URL("child.ts", import.meta.url));

/** Another process that runs a job of `child.ts`. */
export class ChildJob {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  /** Its output so far, by line. */
  readonly lines: string[] = [];

  constructor(job: string, { url, database, collectionName }: Namespace, ...rest: string[]) {
    const namespace = JSON.stringify({ url, database, collectionName });
    this.#child = spawn(process.execPath, [program, job, namespace, ...rest], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let unfinished = "";
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      const lines = (unfinished + text).split("\n");
      unfinished = lines.pop() ?? "";
      this.lines.push(...lines);
    });
    this.#ended = once(this.#child, "close");
  }

  /** Its last line, as JSON, after it has ended. Rejects if it failed. */
  async result<Result>(): Promise<Result> {
    await this.#ended;
    if (this.#child.exitCode !== 0) throw new Error(`the process ended with ${this.#child.exitCode}`);
    return JSON.parse(this.lines.at(-1) ?? "null");
  }

  /** Kills it, and returns when its complete output has arrived. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}
