import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { test as base } from "vitest";

const examples = join(import.meta.dirname, "..");

/** Settings of the machine with which an example would call a real model or another server. */
const unset = { OPENAI_API_KEY: undefined, AI_GATEWAY_API_KEY: undefined, REDIS_URL: undefined };

interface Programs {
  /** An empty folder, in which the programs store their chats. */
  readonly folder: string;
  /** Runs a program of the examples in a process in that folder, with a text as its input. */
  readonly run: (
    program: string,
    args?: readonly string[],
    input?: string,
  ) => Promise<{ stdout: string; stderr: string }>;
}

/** A test that runs programs of the examples. It waits for processes: use `test.concurrent`. */
export const test = base.extend<Programs>({
  // biome-ignore lint/correctness/noEmptyPattern: Vitest requires a pattern.
  folder: async ({}, use) => {
    const folder = await mkdtemp(join(tmpdir(), "scrollback-examples-"));
    await use(folder);
    await rm(folder, { recursive: true });
  },
  run: async ({ folder }, use) => {
    await use((program, args = [], input = "") => {
      const options = { cwd: folder, env: { ...process.env, ...unset } };
      const running = promisify(execFile)(process.execPath, [join(examples, program), ...args], options);
      running.child.stdin?.end(input);
      return running;
    });
  },
});

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  /** The output so far. */
  readonly output: () => string;
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

interface ServerOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** The address once the server listens. Default: the first one in its output. */
  readonly address?: (output: string) => string | undefined | Promise<string | undefined>;
}

/** Starts a server in a process, and waits until it listens. */
export async function startServer(
  args: readonly string[],
  { cwd, env, address = (output) => /http:\/\/\S+/.exec(output)?.[0] }: ServerOptions,
): Promise<ServerProcess> {
  const options = { ...(cwd && { cwd }), env: { ...process.env, ...unset, ...env } };
  const child = spawn(process.execPath, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const kill = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  };
  for (;;) {
    const url = await address(output);
    if (url !== undefined)
      return { url, output: () => output, kill, [Symbol.asyncDispose]: () => kill("SIGKILL") };
    if (child.exitCode !== null) throw new Error(`${args.join(" ")} ended before it listened:\n${output}`);
    await sleep(20);
  }
}
