import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import { describeRestarts } from "./restarts.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-agents-"));
});
afterAll(() => rm(folder, { recursive: true }));

describeRestarts("memory", () => "memory:");
describeRestarts("sqlite", () => `sqlite:${join(folder, "chats.db")}`);
