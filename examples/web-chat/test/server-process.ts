import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";

const PROGRAM = join(import.meta.dirname, "../server.ts");

export interface ServerProcess extends AsyncDisposable {
  readonly url: string;
  /** The output so far. */
  readonly output: () => string;
  kill(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
}

export interface WebChatOptions {
  /** The URL of the stores. Default: the program's. */
  readonly url?: string;
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** The server of the example in a separate process, with its files in `folder`. Port 0: any free port. */
export async function startWebChat(
  folder: string,
  { url, port = 0, env = {} }: WebChatOptions = {},
): Promise<ServerProcess> {
  // Keys in the machine's environment must not make the tests call a real model.
  const { OPENAI_API_KEY: _, AI_GATEWAY_API_KEY: __, REDIS_URL: ___, ...inherited } = process.env;
  const child = spawn(process.execPath, [PROGRAM, ...(url === undefined ? [] : [url])], {
    cwd: folder,
    env: { ...inherited, PORT: String(port), WORD_MS: "8", ALLOW_IMPORT: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += chunk));
  const kill = async (signal: "SIGKILL" | "SIGTERM") => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, "exit");
  };
  return {
    url: await addressOf(child, () => output),
    output: () => output,
    kill,
    [Symbol.asyncDispose]: () => kill("SIGKILL"),
  };
}

async function addressOf(child: ChildProcess, output: () => string): Promise<string> {
  for (;;) {
    const [, address] = /(http:\/\/\S+)/.exec(output()) ?? [];
    if (address !== undefined) return address;
    if (child.exitCode !== null) throw new Error(`server.ts ended before it listened:\n${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
