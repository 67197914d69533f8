import { RedisChatMessageHistory as IoredisHistory } from "@langchain/community/stores/message/ioredis";
import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { RedisChatMessageHistory } from "@langchain/redis";
import type { ChatMessage } from "@scrollback/store-core";
import { createRedisStores } from "@scrollback/store-redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import type { Contestant, Location } from "../backend.ts";
import { langChain, toLangChain } from "../langchain.ts";
import { scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";
import type { Definition } from "./network.ts";

const FILLED_AT_ONCE = 1_000;

/** A commit is a pipelined RPUSH and LTRIM, a read LRANGE and JSON.parse. */
function raw(client: Redis, prefix: string): Contestant {
  const keyOf = (threadId: string) => `${prefix}:raw:${threadId}`;
  return {
    async fill(threadId, messages) {
      for (let from = 0; from < messages.length; from += FILLED_AT_ONCE) {
        const chunk = messages.slice(from, from + FILLED_AT_ONCE);
        await client.rpush(keyOf(threadId), ...chunk.map((message) => JSON.stringify(message)));
      }
    },
    open(threadId, maxMessages) {
      const key = keyOf(threadId);
      const read = async (start: number) =>
        (await client.lrange(key, start, -1)).map((text): unknown => JSON.parse(text));
      return {
        append: (messages) => () =>
          client
            .pipeline()
            .rpush(key, ...messages.map((message) => JSON.stringify(message)))
            .ltrim(key, -maxMessages, -1)
            .exec(),
        newest: (count) => () => read(-count),
        all: () => () => read(0),
      };
    },
    expected: (messages) => [...messages],
    close: async () => client.disconnect(),
  };
}

/** The texts of addMessages, but not written one by one. The newest is first. */
function storedTexts(messages: readonly ChatMessage[]): string[][] {
  const texts = mapChatMessagesToStoredMessages(toLangChain(messages)).map((stored) =>
    JSON.stringify(stored),
  );
  const chunks: string[][] = [];
  for (let from = 0; from < texts.length; from += FILLED_AT_ONCE) {
    chunks.push(texts.slice(from, from + FILLED_AT_ONCE));
  }
  return chunks;
}

/** Redis. Each contestant has a separate connection with the client's default options. */
export function defineRedis({ url, product, version, run }: Location): Definition {
  if (!url.startsWith("redis://")) throw new Error("the benchmark takes redis:// URLs only, not TLS");
  const prefix = `scrollback-bench:${run}`;
  return {
    key: "redis",
    title: product,
    versions: [
      `${product} ${version}`,
      `raw, Scrollback and LangChain.js, ioredis on ioredis ${versionOf("ioredis")}`,
      `LangChain.js: @langchain/redis ${versionOf("@langchain/redis")}, @langchain/core ${versionOf("@langchain/core")}, redis ${versionOf("redis")}`,
      `LangChain.js, ioredis: @langchain/community ${versionOf("@langchain/community")}`,
    ],
    baseline: "JSON.stringify, RPUSH and LTRIM in a pipeline; LRANGE and JSON.parse",
    connect: {
      raw: async (url) => raw(new Redis(url), prefix),
      async Scrollback(url) {
        const client = new Redis(url);
        const stores = createRedisStores({ client, keyPrefix: `${prefix}:scrollback` });
        return scrollback(stores, "redis", async () => client.disconnect());
      },
      async "LangChain.js"(url) {
        const client = createClient({ url });
        await client.connect();
        const keyOf = (threadId: string) => `${prefix}:langchain:${threadId}`;
        return langChain((threadId) => new RedisChatMessageHistory({ sessionId: keyOf(threadId), client }), {
          async fill(threadId, messages) {
            for (const texts of storedTexts(messages)) await client.lPush(keyOf(threadId), texts);
          },
          close: () => client.disconnect(),
        });
      },
      async "LangChain.js, ioredis"(url) {
        const client = new Redis(url);
        const keyOf = (threadId: string) => `${prefix}:langchain-ioredis:${threadId}`;
        return langChain((threadId) => new IoredisHistory({ sessionId: keyOf(threadId), client }), {
          async fill(threadId, messages) {
            for (const texts of storedTexts(messages)) await client.lpush(keyOf(threadId), ...texts);
          },
          close: async () => client.disconnect(),
        });
      },
    },
    async remove() {
      const client = new Redis(url);
      for await (const keys of client.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
        if (keys.length > 0) await client.unlink(...keys);
      }
      client.disconnect();
    },
  };
}
