import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

/** Settings of the machine with which an example would call a real model or another server. */
export const unset = { OPENAI_API_KEY: undefined, AI_GATEWAY_API_KEY: undefined, REDIS_URL: undefined };

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
