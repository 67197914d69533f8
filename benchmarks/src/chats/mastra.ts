import { setTimeout as sleep } from "node:timers/promises";
import type { MastraDBMessage } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { type ChatContestant, type ChatText, TABS_OWNER } from "./contestant.ts";

/** Mastra's memory on LibSQL, without semantic recall and working memory. Saving a message again replaces it. */
export async function mastraChats(path: string): Promise<ChatContestant> {
  const storage = new LibSQLStore({ id: "benchmark", url: `file:${path}` });
  await storage.init();
  const options = { semanticRecall: false, workingMemory: { enabled: false }, generateTitle: false };
  const memory = new Memory({ storage, options });
  let time = 0;
  /** It orders messages by their time, so no two messages have the same time. */
  const createdAt = () => {
    time = Math.max(time + 1, Date.now());
    return new Date(time);
  };
  const create = async (resourceId: string, id: string) => {
    const now = new Date();
    await memory.saveThread({ thread: { id, resourceId, title: id, createdAt: now, updatedAt: now } });
  };
  /** Its message ids are unique over all threads. */
  const save = async (resourceId: string, threadId: string, message: ChatText, at: Date) => {
    const { id, role, content } = message;
    const saved: MastraDBMessage = {
      ...{ id: `${threadId}/${id}`, threadId, resourceId, role, createdAt: at },
      content: { format: 2, parts: [{ type: "text", text: content }] },
    };
    await memory.saveMessages({ messages: [saved] });
  };
  return {
    async fill(owner, chatIds) {
      for (const id of chatIds) {
        await create(owner, id);
        await save(owner, id, { id: "m1", role: "user", content: id }, createdAt());
        // It orders threads by a time in whole milliseconds.
        for (const last = Date.now(); Date.now() === last; ) await sleep(1);
      }
    },
    async storeTurn(owner, chatId, { question, drafts, answer }) {
      await save(owner, chatId, question, createdAt());
      const at = createdAt();
      for (const message of [...drafts, answer]) await save(owner, chatId, message, at);
    },
    async list(owner, limit) {
      const { threads } = await memory.listThreads({
        filter: { resourceId: owner },
        page: 0,
        perPage: limit,
        orderBy: { field: "updatedAt", direction: "DESC" },
      });
      return threads.map(({ id }) => id);
    },
    create: (chatId) => create(TABS_OWNER, chatId),
    append: (chatId, message) => save(TABS_OWNER, chatId, message, createdAt()),
    async read(chatId) {
      const { messages } = await memory.recall({
        threadId: chatId,
        resourceId: TABS_OWNER,
        page: 0,
        perPage: false,
      });
      return messages.flatMap(({ id, role, content }) => {
        if (role !== "user" && role !== "assistant") return [];
        const texts = content.parts.map((part) => (part.type === "text" ? part.text : ""));
        return [{ id: id.slice(chatId.length + 1), role, content: texts.join("") }];
      });
    },
    close: () => storage.close(),
  };
}
