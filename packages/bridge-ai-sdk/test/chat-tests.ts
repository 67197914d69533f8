import { randomUUID } from "node:crypto";
import type { StoreFactory } from "@scrollback/store-core";
import { lastAssistantMessageIsCompleteWithApprovalResponses as sendAutomaticallyWhen } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { framework } from "./framework.ts";
import { scriptedModel } from "./scripted-model.ts";
import { serve, until, user } from "./serve.ts";
import { openTab } from "./ui-client.ts";

const TEXT = "say one two three four five six seven eight nine ten";
const WHOLE = "one two three four five six seven eight nine ten ";

/** Declares the tests for every backend. It calls `open` twice, for two connections, as in two processes. */
export function declareChatTests(backend: string, open: () => Promise<StoreFactory>): void {
  describe(`chats on ${backend}`, countedTests(framework, backend), () => {
    let factories: StoreFactory[] = [];
    beforeAll(async () => {
      const stores = await open();
      await stores.setup();
      factories = [stores, await open()];
    });
    afterAll(async () => {
      for (const stores of factories) await stores.close();
    });
    /** Two servers, one of them slow, and the id of a chat. */
    const twoServers = async () => {
      const [one, other] = factories as [StoreFactory, StoreFactory];
      const servers = [
        await serve({ stores: one, model: scriptedModel({ delayMs: 20 }), streams: "stores" }),
        await serve({ stores: other, streams: "stores" }),
      ] as const;
      return {
        ...{ one: servers[0], other: servers[1], chatId: randomUUID() },
        async [Symbol.asyncDispose]() {
          for (const server of servers) await server[Symbol.asyncDispose]();
        },
      };
    };

    test("a chat continues on another server: a tab shows the stored messages", async () => {
      await using servers = await twoServers();
      const { one, other, chatId } = servers;
      const first = openTab(one.url, chatId);
      await first.sendMessage({ text: TEXT });
      expect(first.lastText).toBe(WHOLE);
      const { messages } = await other.get(`/chats/${chatId}`);
      expect(messages).toEqual(first.plain);
      const second = openTab(other.url, chatId, { messages });
      await second.sendMessage({ text: "say hello" });
      expect(second.lastText).toBe("hello ");
      expect(await one.stored(chatId)).toEqual(second.plain);
      expect(second.plain).toHaveLength(4);
      expect([...one.errors, ...other.errors]).toEqual([]);
    });

    test("a tab opened during an answer shows each word once, and the list has the chat", async () => {
      await using servers = await twoServers();
      const { one, other, chatId } = servers;
      const first = openTab(one.url, chatId);
      const sent = first.sendMessage({ text: TEXT });
      await until(() => first.messages.length === 2 && first.lastText.includes("three"));
      const { messages, chat } = await other.get(`/chats/${chatId}`);
      expect(chat.run?.state).toBe("running");
      const second = openTab(one.url, chatId, { messages });
      await second.resumeStream();
      await sent;
      expect(second.lastText).toBe(WHOLE);
      expect(await other.stored(chatId)).toEqual(second.plain);
      const { chats } = await other.get("/chats");
      expect(chats.map(({ id }) => id)).toContain(chatId);
    });

    test("an approval given on another server: the tool runs once, and the answer is stored", async () => {
      await using servers = await twoServers();
      const { one, other, chatId } = servers;
      await openTab(one.url, chatId).sendMessage({ text: "delete a.txt" });
      const { messages } = await other.get(`/chats/${chatId}`);
      const tab = openTab(other.url, chatId, { messages, sendAutomaticallyWhen });
      const waiting = messages.at(-1)?.parts.at(-1) as unknown as { approval: { id: string } };
      await tab.addToolApprovalResponse({ id: waiting.approval.id, approved: true });
      await tab.idle();
      expect(tab.error).toBeUndefined();
      expect([...one.log.deleted, ...other.log.deleted]).toEqual(["a.txt"]);
      expect(await one.stored(chatId)).toEqual(tab.plain);
    });

    test("two concurrent messages: one is answered, the other is refused", async () => {
      await using servers = await twoServers();
      const { one, other, chatId } = servers;
      const posted = await Promise.all(
        [one, other].map((server, index) =>
          server.post({ id: chatId, message: user(`q${index}`, "say hello"), parentId: null }),
        ),
      );
      expect(posted.map(({ status }) => status).sort()).toEqual([200, 409]);
      const stored = await other.stored(chatId);
      expect(stored?.map(({ role }) => role)).toEqual(["user", "assistant"]);
    });

    test("a chat deleted by another server is missing, also from the list", async () => {
      await using servers = await twoServers();
      const { one, other, chatId } = servers;
      await other.post({ id: chatId, message: user("q", "say hello") });
      expect((await one.send("DELETE", `/chats/${chatId}`)).ok).toBe(true);
      expect(await other.stored(chatId)).toBeUndefined();
      const { chats } = await other.get("/chats");
      expect(chats.map(({ id }) => id)).not.toContain(chatId);
    });
  });
}
