import { spawn } from "node:child_process";
import { join } from "node:path";
import { Running } from "./project.ts";
import { type CliResult, Folder, run } from "./run.ts";

const main = join(import.meta.dirname, "../src/main.ts");

/** A folder in which the CLI runs from the sources: in this process, or in its own where the test kills it. */
export class SourceProject implements AsyncDisposable {
  readonly #folder = new Folder();
  readonly env: Record<string, string> = {};
  /** The complete output of the CLI so far. */
  output = "";

  get path(): string {
    return this.#folder.path;
  }

  start(args: readonly string[], env: Record<string, string> = {}): Running {
    const child = spawn(process.execPath, [main, ...args], {
      cwd: this.path,
      env: { ...process.env, ...this.env, ...env },
    });
    return new Running(child, (text) => {
      this.output += text;
    });
  }

  async run(args: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
    const result = await run(args, { env: { ...this.env, ...env } });
    this.output += result.stdout + result.stderr;
    return result;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#folder[Symbol.dispose]();
  }
}
