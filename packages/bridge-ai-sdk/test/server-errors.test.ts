import { ChatStore } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { systemClock } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { createChatHandler, uiMessages } from "../src/index.ts";
import { scriptedModel } from "./scripted-model.ts";
import { user } from "./serve.ts";

class Broken extends MemoryDriver {
  error: StoreError | undefined;

  override async read(...args: Parameters<MemoryDriver["read"]>) {
    if (this.error) throw this.error;
    return await super.read(...args);
  }
}

test.each<[StoreError, number]>([
  [new StoreError("UNAVAILABLE", `no connection for thread "chats:chat:ada:c"`, { retryable: true }), 503],
  [new StoreError("UNAVAILABLE", `no table for thread "chats:chat:ada:c"; run setup()`), 500],
  [new StoreError("CORRUPT", `thread "chats:chat:ada:c" cannot be read`), 500],
  [new StoreError("UNSUPPORTED", `thread "chats:chat:ada:c" has a newer format`), 500],
])(
  "an error of the store (%s) reaches onError with the chat's id, and the client gets its code alone",
  async (error, status) => {
    const driver = new Broken();
    const heard: unknown[] = [];
    let now = 0;
    const clock = {
      ...systemClock,
      wall: Date.now,
      monotonic: () => now,
      async sleep(ms: number) {
        now += ms;
      },
    };
    const chats = new ChatStore<UIMessage>({ stores: createStores(driver, {}, { clock }), ...uiMessages() });
    const handler = createChatHandler<UIMessage>({
      chats,
      model: scriptedModel(),
      onError: (...args) => void heard.push(args),
    });
    const send = async (method: string, path: string, body?: object) => {
      const request = new Request(`http://a/api${path}`, {
        method,
        ...(body && { body: JSON.stringify(body) }),
      });
      return await handler.fetch(request, { owner: "ada" });
    };
    await (await send("POST", "/chat", { id: "c", message: user("q", "say hello") })).text();
    driver.error = error;
    const requests = [
      ["POST", "/chat", { id: "c", message: user("q2") }],
      ["GET", "/chats/c"],
      ["PATCH", "/chats/c", { title: "t" }],
      ["POST", "/chat/c/stop", {}],
      ["GET", "/chat/c/stream"],
    ] as const;
    for (const [method, path, body] of requests) {
      heard.length = 0;
      const response = await send(method, path, body);
      expect(response.status).toBe(status);
      expect(response.headers.get("retry-after")).toBe(status === 503 ? "1" : null);
      const text = await response.text();
      expect(JSON.parse(text).error).toBe(error.code);
      expect(text).not.toContain("ada");
      expect(text.includes("try again")).toBe(status === 503);
      expect(heard).toEqual([[expect.objectContaining({ code: error.code }), { chatId: "c" }]]);
    }
    driver.error = undefined;
    heard.length = 0;
    expect((await send("GET", "/chats/none")).status).toBe(404);
    expect((await send("PATCH", "/chats/c", { title: 1 })).status).toBe(400);
    expect(heard).toEqual([]);
    await handler.close();
    await chats.flush();
  },
);
