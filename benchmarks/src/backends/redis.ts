import { RedisChatMessageHistory } from "@langchain/community/stores/message/ioredis";
import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { createRedisStores } from "@scrollback/store-redis";
import { Redis } from "ioredis";
import type { Definition, Location } from "../backend.ts";
import { type Contestant, chunksOf, MAX_MESSAGES } from "../contestant.ts";
import { langChain, toLangChain } from "../langchain.ts";
import { versionOf } from "../versions.ts";

const FILLED_AT_ONCE = 1_000;

/** A commit is a pipelined RPUSH and LTRIM, a read LRANGE and JSON.parse. Ids of threads are in a sorted set. */
function raw(client: Redis, prefix: string): Contestant {
  const keyOf = (threadId: string) => `${prefix}:raw:${threadId}`;
  const idsKey = `${prefix}:raw-ids`;
  return {
    async fill(threadId, messages) {
      for (const chunk of chunksOf(messages, FILLED_AT_ONCE))
        await client.rpush(keyOf(threadId), ...chunk.map((message) => JSON.stringify(message)));
    },
    open(threadId) {
      const key = keyOf(threadId);
      const read = async (start: number) =>
        (await client.lrange(key, start, -1)).map((text): unknown => JSON.parse(text));
      return {
        append: (messages) => () =>
          client
            .pipeline()
            .rpush(key, ...messages.map((message) => JSON.stringify(message)))
            .ltrim(key, -MAX_MESSAGES, -1)
            .exec(),
        newest: (count) => () => read(-count),
        all: () => () => read(0),
      };
    },
    async fillThreads(threadIds) {
      for (const ids of chunksOf(threadIds, FILLED_AT_ONCE))
        await client.zadd(idsKey, ...ids.flatMap((id) => ["0", id]));
    },
    list: async (count) => (await client.zrange(idsKey, "0", String(count - 1))).length,
    close: async () => client.disconnect(),
  };
}

/** Redis, with the client's default options. */
export function defineRedis({ url, product, version, run }: Location): Definition {
  if (!url.startsWith("redis://")) throw new Error("the benchmark takes redis:// URLs only, not TLS");
  const prefix = `scrollback-bench:${run}`;
  return {
    title: product,
    versions: [
      `${product} ${version}`,
      `ioredis ${versionOf("ioredis")}`,
      `@langchain/community ${versionOf("@langchain/community")}`,
    ],
    baseline:
      "`JSON.stringify`, `RPUSH` and `LTRIM` in a pipeline; `LRANGE` and `JSON.parse`; `ZRANGE` of ids that it keeps itself",
    other: "LangChain.js",
    raw: async (url) => raw(new Redis(url), prefix),
    stores(url, maxMessages) {
      const client = new Redis(url);
      const stores = createRedisStores({
        client,
        keyPrefix: `${prefix}:scrollback`,
        ...(maxMessages !== undefined && { maxMessages }),
      });
      return { stores, close: async () => client.disconnect() };
    },
    async compared(url) {
      const client = new Redis(url);
      const keyOf = (threadId: string) => `${prefix}:langchain:${threadId}`;
      return langChain((threadId) => new RedisChatMessageHistory({ sessionId: keyOf(threadId), client }), {
        // The texts of addMessages, but not written one by one.
        async fill(threadId, messages) {
          const texts = mapChatMessagesToStoredMessages(toLangChain(messages)).map((one) =>
            JSON.stringify(one),
          );
          for (const chunk of chunksOf(texts, FILLED_AT_ONCE)) await client.lpush(keyOf(threadId), ...chunk);
        },
        close: async () => client.disconnect(),
      });
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
