import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { startServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { expect, onTestFinished, test } from "vitest";
import type { ContractMessage } from "../src/contract/index.ts";
import { message, textsIn } from "../src/contract/values.ts";
import { ChatStore } from "../src/index.ts";

const CHILD = fileURLToPath(new URL("child.ts", import.meta.url));
const ROUNDS = 4;

// DynamoDB Local takes any credentials; they come to the client as a user's would, through the standard chain.
process.env.AWS_ACCESS_KEY_ID = "chats";
process.env.AWS_SECRET_ACCESS_KEY = "any";

/** The URL of a new, empty database. */
const backends: Record<string, () => Promise<string>> = {
  SQLite: async () => {
    const directory = mkdtempSync(join(tmpdir(), "scrollback-chats-"));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    return `sqlite:${join(directory, "chats.db")}`;
  },
  Redis: () => urlOf("redis"),
  MongoDB: () => urlOf("mongodb"),
  DynamoDB: async () => {
    const location = new URLSearchParams({ region: "eu-central-1", endpoint: await urlOf("dynamodb") });
    return `dynamodb://chats-${randomUUID()}?${location}`;
  },
  PostgreSQL: () => urlOf("postgres"),
};

async function urlOf(name: "redis" | "mongodb" | "dynamodb" | "postgres"): Promise<string> {
  const server = await startServer(name);
  onTestFinished(() => server.stop());
  return server.url;
}

/** Starts a writer and kills it at some moment. Returns the ids of the messages that it was told are stored. */
async function writeAndKill(url: string, chatId: string): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, url, chatId], { stdio: ["ignore", "pipe", "inherit"] });
  let printed = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    printed += text;
  });
  const closed = once(child, "close");
  await Promise.race([once(child.stdout, "data"), closed]);
  await sleep(Math.random() * 100);
  child.kill("SIGKILL");
  await closed;
  return printed.trim().split("\n");
}

test.each(Object.keys(backends))(
  "a writer that is killed at any moment loses nothing, on %s",
  async (backend) => {
    const url = (await backends[backend]?.()) ?? "";
    await using stores = await openStores(url);
    await stores.setup();
    for (let round = 0; round < ROUNDS; round++) {
      const chatId = `chat-${round}`;
      const acknowledged = await writeAndKill(url, chatId);
      // Half of the newest answer is kept by its run, which nobody has ended.
      await using chats = new ChatStore<ContractMessage>({ stores, leaseMs: 1_000, beatMs: 5 });
      const mine = chats.of("ada");
      const page = await mine.read(chatId);
      const ids = page?.entries.map((entry) => entry.message.id) ?? [];
      expect(ids.slice(0, acknowledged.length)).toEqual(acknowledged);
      expect(ids.length - acknowledged.length).toBeLessThanOrEqual(1);
      expect(new Set(ids).size).toBe(ids.length);
      for (const entry of page?.entries.slice(0, -1) ?? [])
        expect(entry).toMatchObject({
          status: "complete",
          message: { content: expect.not.stringMatching("half") },
        });
      expect(page?.chat.messageCount).toBe(ids.length);

      const { chats: listed } = await mine.list();
      expect(listed.map(({ id }) => id)).toEqual(
        Array.from({ length: round + 1 }, (_, index) => `chat-${round - index}`),
      );
      expect(listed[0]).toMatchObject({ messageCount: ids.length, lastMessage: { id: ids.at(-1) } });

      // The next turn takes over from the dead one.
      await expect
        .poll(async () => (await mine.get(chatId))?.run?.state !== "running", { timeout: 10_000 })
        .toBe(true);
      const run = await mine.begin(chatId, { append: [message("next")] }, { messageId: "answer" });
      await run.end({ message: message("answer", "assistant", "whole"), status: "complete" });
      expect((await textsIn(mine, chatId)).slice(-2)).toEqual(["next", "whole"]);
      expect((await mine.read(chatId))?.entries.filter(({ status }) => status === "partial")).toEqual([]);
    }
  },
);
