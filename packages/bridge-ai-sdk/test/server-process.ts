// A program for tests with several processes: node server-process.ts <store url> <Redis url, or "" for streams on the store> <log file>. Serves chats
// until it is killed. Its tools log their actions in the file; `look up kill …` and `look up end …` kill it in and after the tool.
import { appendFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { flushCompileCache } from "node:module";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { ChatStore } from "@scrollback/chats";
import { tool, type UIMessage } from "ai";
import { Redis } from "ioredis";
import { z } from "zod";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { createChatHandler, nodeListener, uiMessages } from "../src/index.ts";
import { redisStreams } from "../src/redis.ts";
import { scriptedModel, scriptedTools } from "./scripted-model.ts";

// A killed process keeps no compiled modules for the next one.
flushCompileCache();
const [url = "", redisUrl = "", logFile = ""] = process.argv.slice(2);
const note = (line: string) => appendFileSync(logFile, `${line}\n`);
const push = (path: string) => {
  note(`deleted ${path}`);
  return 1;
};
const kill = () => process.kill(process.pid, "SIGKILL");
const tools = {
  ...scriptedTools({ deleted: { push } }, { lookUpMs: 200 }),
  lookUp: tool({
    inputSchema: z.object({ word: z.string() }),
    async execute({ word }) {
      note(`looked ${word}`);
      // Waits until the call is stored.
      await sleep(1_000);
      if (word.startsWith("up kill")) kill();
      if (word.startsWith("up end")) setImmediate(kill);
      return { word };
    },
  }),
};
const chats = new ChatStore<UIMessage>({
  stores: await openTestStores(url),
  ...uiMessages({ tools }),
  beatMs: 100,
  leaseMs: 5_000,
});
const handler = createChatHandler<UIMessage>({
  chats,
  tools,
  model: scriptedModel({ delayMs: 30 }),
  ...(redisUrl !== "" && { streams: redisStreams({ redis: new Redis(redisUrl) }) }),
  onError: (error) => console.error(error),
});
const server = createServer(
  nodeListener((request) => handler.fetch(request, { owner: request.headers.get("x-user") ?? "ada" })),
);
server.listen(0, "127.0.0.1", () =>
  writeSync(1, `http://127.0.0.1:${(server.address() as AddressInfo).port}\n`),
);
