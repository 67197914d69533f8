import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

/** Starts a server in a process in a folder, and waits for its address: the first match in its output. */
export async function startServer(
  args: readonly string[],
  { cwd, env = {}, address = /http:\/\/\S+/ }: { cwd: string; env?: NodeJS.ProcessEnv; address?: RegExp },
): Promise<ServerProcess> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, ...unset, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const kill = (signal: NodeJS.Signals) => end(child, signal);
  for (;;) {
    const [found, url = found] = address.exec(output) ?? [];
    if (url !== undefined)
      return { url, output: () => output, kill, [Symbol.asyncDispose]: () => kill("SIGKILL") };
    if (child.exitCode !== null) throw new Error(`${args.join(" ")} ended before it listened:\n${output}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill(signal);
  await once(child, "exit");
}
