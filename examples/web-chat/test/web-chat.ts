import { join } from "node:path";
import { type ServerProcess, startServer } from "../../test/server-process.ts";

export interface WebChatOptions {
  /** The URL of the stores. Default: the program's. */
  readonly url?: string;
  /** Default: any free port. */
  readonly port?: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** The server of the example in a process, with its files in a folder. */
export function startWebChat(
  cwd: string,
  { url, port = 0, env }: WebChatOptions = {},
): Promise<ServerProcess> {
  const program = join(import.meta.dirname, "../server.ts");
  return startServer([program, ...(url === undefined ? [] : [url])], {
    cwd,
    env: { PORT: String(port), WORD_MS: "8", ALLOW_IMPORT: "1", ...env },
  });
}
