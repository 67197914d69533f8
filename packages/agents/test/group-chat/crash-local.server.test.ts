import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { describeCrashes } from "./crashes.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-chats-"));
});
afterAll(() => rm(folder, { recursive: true }));

describeCrashes("memory", () => "memory:");
describeCrashes("sqlite", () => `sqlite:${join(folder, "chats.db")}`);
