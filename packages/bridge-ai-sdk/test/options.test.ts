import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import { Redis as Upstash } from "@upstash/redis";
import type { UIMessage } from "ai";
import { Redis } from "ioredis";
import { expect, test } from "vitest";
import { createChatHandler, inProcessStreams, nodeListener, toUIMessages, uiMessages } from "../src/index.ts";
import { redisStreams } from "../src/redis.ts";
import { scriptedModel } from "./scripted-model.ts";

const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages() });
const model = scriptedModel();
const invalid: [Record<string, unknown> | undefined, string][] = [
  [undefined, "createChatHandler"],
  [{ model }, "chats"],
  [{ chats: {}, model }, "chats"],
  [{ chats }, "one of"],
  [{ chats, model, generate: () => undefined }, "one of"],
  [{ chats, model: 7 }, "model"],
  [{ chats, agent: {} }, "agent"],
  [{ chats, generate: "text" }, "generate"],
  [{ chats, generate: () => undefined, instructions: "Be short." }, "instructions"],
  [{ chats, model, instructions: 7 }, "instructions"],
  [{ chats, model, tools: [] }, "tools"],
  [{ chats, model, dataSchemas: 7 }, "dataSchemas"],
  [{ chats, model, reducer: {} }, "reducer"],
  [{ chats, model, streams: {} }, "streams"],
  [{ chats, model, title: {} }, "title"],
  [{ chats, model, title: true }, "title"],
  [{ chats, model, whileRunning: "wait" }, "whileRunning"],
  [{ chats, model, onStale: "drop" }, "onStale"],
  [{ chats, model, stream: { sendAll: true } }, "sendAll"],
  [{ chats, model, generateMessageId: "id" }, "generateMessageId"],
  [{ chats, model, maxMessageBytes: 0 }, "maxMessageBytes"],
  [{ chats, model, onError: "log" }, "onError"],
  [{ chats, model, unknown: 1 }, "unknown"],
];

test.each(invalid)("createChatHandler(%o) names %s", (options, name) => {
  const create = () => createChatHandler(options as never);
  expect(create).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(create).toThrow(name);
});

test("the other functions refuse unknown and invalid options before any I/O", () => {
  const redis = new Redis({ lazyConnect: true });
  const calls: [() => unknown, string][] = [
    [() => uiMessages({ unknown: 1 } as never), "unknown"],
    [() => uiMessages({ tools: 1 } as never), "tools"],
    [() => nodeListener(() => new Response(), { onError: 7 } as never), "onError"],
    [() => inProcessStreams({ maxBytes: 0 }), "maxBytes"],
    [() => redisStreams(undefined as never), "redisStreams"],
    [() => redisStreams({} as never), "redis"],
    [() => redisStreams({ redis: {} } as never), "redis"],
    [
      () => redisStreams({ redis: new Upstash({ url: "https://x.upstash.io", token: "x" }) as never }),
      "over HTTP cannot",
    ],
    [() => redisStreams({ redis, keyPrefix: 7 } as never), "keyPrefix"],
    [() => toUIMessages([], { idOf: "id" } as never), "idOf"],
  ];
  for (const [call, name] of calls) {
    expect(call).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(call).toThrow(name);
  }
  redisStreams({ redis });
  expect(redis.status).toBe("wait");
});
