import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { packedPackages, userEnvironment } from "../../../conformance-tests/test/fixtures/pack-packages.ts";
import type { CliResult } from "./run.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "../../..");
const node = join(root, "node_modules/.bin/node");

/** A user's project: a folder with the packed packages installed, in which the CLI runs. */
export class Project implements AsyncDisposable {
  readonly path: string;
  /** The complete output of the CLI so far. */
  output = "";
  readonly env: Record<string, string>;

  private constructor(path: string, env: Record<string, string>) {
    this.path = path;
    this.env = env;
  }

  /** @param adapters names such as `redis`. @param clients packages from the registry, such as `ioredis@6`. */
  static async create(
    adapters: readonly string[],
    clients: readonly string[],
    env: Record<string, string> = {},
  ): Promise<Project> {
    const path = await mkdtemp(join(tmpdir(), "scrollback-project-"));
    const names = [
      "store-core",
      "documents",
      "collections",
      "chats",
      ...adapters.map((name) => `store-${name}`),
      "cli",
    ];
    const folders = names.map((name) => `packages/${name}`);
    const tarballs = (await packedPackages(folders)).map(({ tarball }) => tarball);
    await writeFile(join(path, "package.json"), JSON.stringify({ name: "project", private: true }));
    await run("npm", ["install", "--no-audit", "--no-fund", ...tarballs, ...clients], { cwd: path });
    return new Project(path, env);
  }

  /** The path of the installed CLI. */
  get program(): string {
    return join(this.path, "node_modules/.bin/scrollback");
  }

  /** Starts the CLI and collects its output. */
  start(args: readonly string[], env: Record<string, string> = {}): Running {
    const child = spawn(node, [this.program, ...args], {
      cwd: this.path,
      env: { ...userEnvironment(), ...this.env, ...env },
    });
    return new Running(child, (text) => {
      this.output += text;
    });
  }

  /** Runs the CLI to its end. */
  async run(args: readonly string[], env: Record<string, string> = {}): Promise<CliResult> {
    return await this.start(args, env).result();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.path, { recursive: true, force: true });
  }
}

/** A run of the CLI. */
export class Running {
  readonly #child: ChildProcess;
  stdout = "";
  stderr = "";

  constructor(child: ChildProcess, collect: (text: string) => void) {
    this.#child = child;
    child.stdin?.end();
    child.stdout?.on("data", (chunk: Buffer) => {
      this.stdout += chunk;
      collect(String(chunk));
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      this.stderr += chunk;
      collect(String(chunk));
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Returns the exit code when the command has ended; 128 or more after a signal. */
  async result(): Promise<CliResult> {
    const [code, signal] = (await once(this.#child, "close")) as [number | null, string | null];
    return { code: code ?? (signal === "SIGKILL" ? 137 : 128), stdout: this.stdout, stderr: this.stderr };
  }

  /** Returns when a condition is true, or the command has ended. */
  async until(condition: () => Promise<boolean>): Promise<void> {
    while (this.#child.exitCode === null && !(await condition())) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
