import { randomUUID } from "node:crypto";
import { mapChatMessagesToStoredMessages } from "@langchain/core/messages";
import { RedisChatMessageHistory } from "@langchain/redis";
import { createRedisStores } from "@scrollback/store-redis";
import { Redis } from "ioredis";
import { createClient } from "redis";
import type { Backend, Contestant, Contestants } from "../backend.ts";
import { toLangChain } from "../langchain.ts";
import { countRoundTrips } from "../round-trips.ts";
import { scrollback } from "../scrollback.ts";
import { versionOf } from "../versions.ts";

/** A commit is a pipelined RPUSH and LTRIM, a read LRANGE and JSON.parse. */
function raw(client: Redis, prefix: string): Contestant {
  const keyOf = (threadId: string) => `${prefix}:raw:${threadId}`;
  return {
    fill: (threadId, messages) =>
      client.rpush(keyOf(threadId), ...messages.map((message) => JSON.stringify(message))),
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
  };
}

type NodeRedis = ReturnType<typeof createClient>;

/** LangChain.js' own history, which keeps everything and reads everything. */
function langChain(client: NodeRedis, prefix: string): Contestant {
  const keyOf = (threadId: string) => `${prefix}:langchain:${threadId}`;
  return {
    // What addMessages would write, but not one by one.
    fill: (threadId, messages) => {
      const stored = mapChatMessagesToStoredMessages(toLangChain(messages));
      return client.lPush(
        keyOf(threadId),
        stored.map((message) => JSON.stringify(message)),
      );
    },
    open(threadId) {
      const history = new RedisChatMessageHistory({ sessionId: keyOf(threadId), client });
      return {
        append(messages) {
          const converted = toLangChain(messages);
          return () => history.addMessages(converted);
        },
        newest: (count) => async () => (await history.getMessages()).slice(-count),
        all: () => () => history.getMessages(),
      };
    },
    expected: (messages) => toLangChain(messages),
  };
}

/** Redis at a URL. Each contestant has a connection of its own, with its client's default options. */
export async function openRedis(server: { url: string; product: string; version: string }): Promise<Backend> {
  if (!server.url.startsWith("redis://")) throw new Error("the benchmark takes redis:// URLs only, not TLS");
  const prefix = `scrollback-bench:${randomUUID()}`;
  const clients: Redis[] = [];
  const nodeRedisClients: NodeRedis[] = [];
  async function connectAll(url: string): Promise<Contestants> {
    const [forRaw, forOurs] = [new Redis(url), new Redis(url)];
    const forLangChain = createClient({ url });
    clients.push(forRaw, forOurs);
    nodeRedisClients.push(forLangChain);
    await forLangChain.connect();
    return {
      raw: raw(forRaw, prefix),
      Scrollback: scrollback(
        createRedisStores({ client: forOurs, keyPrefix: `${prefix}:scrollback` }),
        "redis",
      ),
      "LangChain.js": langChain(forLangChain, prefix),
    };
  }
  const countedUrl = new URL(server.url);
  const host = countedUrl.hostname.replace(/^\[|\]$/g, "");
  const counter = await countRoundTrips({ host, port: Number(countedUrl.port || 6379) });
  countedUrl.host = `127.0.0.1:${counter.port}`;
  return {
    name: server.product,
    versions: [
      `${server.product} ${server.version}`,
      `raw and Scrollback on ioredis ${versionOf("ioredis")}`,
      `LangChain.js: @langchain/redis ${versionOf("@langchain/redis")}, @langchain/core ${versionOf("@langchain/core")}, redis ${versionOf("redis")}`,
    ],
    baseline: "JSON.stringify, RPUSH and LTRIM in a pipeline; LRANGE and JSON.parse",
    targets: { commit: 1.25, read: 1.25, batchLead: 10 },
    contestants: await connectAll(server.url),
    counted: { contestants: await connectAll(countedUrl.href), roundTrips: counter.count },
    async close() {
      const [client] = clients;
      for await (const keys of client?.scanStream({ match: `${prefix}:*`, count: 1_000 }) ?? []) {
        if (keys.length > 0) await client?.unlink(...keys);
      }
      for (const open of clients) open.disconnect();
      for (const open of nodeRedisClients) await open.disconnect();
      await counter.close();
    },
  };
}
