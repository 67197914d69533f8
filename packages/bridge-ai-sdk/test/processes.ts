import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterFile } from "../../../conformance-tests/test/fixtures/after-file.ts";
import { scratchUrl } from "../../../conformance-tests/test/fixtures/scratch-url.ts";
import { newServerUrl } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import type { Loaded } from "./serve.ts";

const PROGRAM = fileURLToPath(new URL("server-process.ts", import.meta.url));

/** The URL of new stores by the name of their backend. */
const backends = {
  SQLite: async () => scratchUrl(),
  Redis: () => newServerUrl("Redis"),
  MongoDB: () => newServerUrl("MongoDB"),
  DynamoDB: () => newServerUrl("DynamoDB"),
  PostgreSQL: () => newServerUrl("PostgreSQL"),
};
export type Backend = keyof typeof backends;

/** The URL of the Redis for streams. */
export const redisUrl = async (): Promise<string> => (await sharedServer("redis")).url;

/** A server in a process of its own. */
export interface ChatServer {
  readonly url: string;
  readonly kill: () => Promise<void>;
  readonly exited: Promise<unknown>;
}

/** Server processes on new stores, which end after the file's tests. `redis`: the URL for streams, or "" for streams on the stores. */
export async function processesOn(backend: Backend, redis: string) {
  const url = await backends[backend]();
  const stores = await openTestStores(url);
  await stores.setup();
  await stores.close();
  const folder = mkdtempSync(join(tmpdir(), "scrollback-ai-sdk-"));
  afterFile(() => rmSync(folder, { recursive: true }));
  const logFile = join(folder, "log");
  writeFileSync(logFile, "");
  return {
    /** The actions of the tools that contain a word, line by line. */
    log: (word: string) =>
      readFileSync(logFile, "utf8")
        .split("\n")
        .filter((line) => line.includes(word)),
    async start(): Promise<ChatServer> {
      const child = spawn(process.execPath, [PROGRAM, url, redis, logFile], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(child, "exit");
      const kill = async () => {
        child.kill("SIGKILL");
        await exited;
      };
      afterFile(kill);
      const [line] = (await once(child.stdout.setEncoding("utf8"), "data")) as [string];
      return { url: line.trim(), kill, exited };
    },
  };
}

/** The chat that a server returns. */
export async function loaded(url: string, chatId: string): Promise<Loaded> {
  return (await (await fetch(`${url}/api/chats/${chatId}`)).json()) as Loaded;
}

/** Posts to a server. */
export async function post(url: string, path: string, body: unknown = {}): Promise<Response> {
  return await fetch(`${url}/api${path}`, { method: "POST", body: JSON.stringify(body) });
}
