import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { onTestFinished } from "vitest";
import type { Loaded } from "./serve.ts";

const PROGRAM = fileURLToPath(new URL("server-process.ts", import.meta.url));

// DynamoDB Local accepts any credentials; the client gets them through the standard chain, as in production.
process.env.AWS_ACCESS_KEY_ID = "chats";
process.env.AWS_SECRET_ACCESS_KEY = "any";

const running = new Map<string, Promise<RunningServer>>();

/** The URL of a database server, which starts once per test file. */
export async function urlOf(name: "redis" | "mongodb" | "dynamodb" | "postgres"): Promise<string> {
  const starting = running.get(name) ?? startServer(name);
  running.set(name, starting);
  return (await starting).url;
}

/** Stops the database servers of a test file. */
export async function stopServers(): Promise<void> {
  for (const server of await Promise.allSettled(running.values()))
    if (server.status === "fulfilled") await server.value.stop();
}

/** The URL of stores by the name of their backend. */
export const backends: Readonly<Record<string, () => Promise<string>>> = {
  SQLite: async () => `sqlite:${join(temporaryFolder(), "chats.db")}`,
  Redis: () => urlOf("redis"),
  MongoDB: () => urlOf("mongodb"),
  DynamoDB: async () => {
    const location = new URLSearchParams({ region: "eu-central-1", endpoint: await urlOf("dynamodb") });
    return `dynamodb://chats-${randomUUID()}?${location}`;
  },
  PostgreSQL: () => urlOf("postgres"),
};

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "scrollback-ai-sdk-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
}

/** Server processes on a backend, until the test has finished. `redis`: the URL for streams, or "" for none. */
export async function processesOn(backend: string, redis: string) {
  const url = (await backends[backend]?.()) ?? "";
  const stores = await openStores(url);
  await stores.setup();
  await stores.close();
  const logFile = join(temporaryFolder(), "log");
  writeFileSync(logFile, "");
  return {
    /** The actions of the tools, line by line. */
    log: () => readFileSync(logFile, "utf8").split("\n").slice(0, -1),
    async start() {
      const child = spawn(process.execPath, [PROGRAM, url, redis, logFile], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      const exited = once(child, "exit");
      const kill = async () => {
        child.kill("SIGKILL");
        await exited;
      };
      onTestFinished(kill);
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
