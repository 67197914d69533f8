import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll } from "vitest";
import { describeRestarts } from "./restarts.ts";

let folder: string;
let redisUrl: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-agents-"));
  const { host, port } = await sharedServer("redis");
  // The server's default user has no password and accepts any.
  redisUrl = `redis://default:hush@${host}:${port}`;
});
afterAll(() => rm(folder, { recursive: true }));

describeRestarts("memory", () => "memory:");
describeRestarts("sqlite", () => `sqlite:${join(folder, "chats.db")}`);
describeRestarts("redis", () => redisUrl);
