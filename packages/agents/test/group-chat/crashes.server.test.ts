import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import { describeCrashes } from "./crashes.ts";

let folder: string;
let redisUrl: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-chats-"));
  const { host, port } = await sharedServer("redis");
  // The server's default user has no password and accepts any.
  redisUrl = `redis://default:hush@${host}:${port}`;
});
afterAll(() => rm(folder, { recursive: true }));

describeCrashes("memory", () => "memory:");
describeCrashes("sqlite", () => `sqlite:${join(folder, "chats.db")}`);
describeCrashes("redis", () => redisUrl);
