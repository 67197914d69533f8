import { randomUUID } from "node:crypto";
import type { MastraDBMessage } from "@mastra/core/agent";
import type { MastraCompositeStore } from "@mastra/core/storage";
import { Memory } from "@mastra/memory";
import type { ChatMessage } from "@scrollback/store-core";
import type { Contestant } from "./contestant.ts";

const RESOURCE = "benchmark";

/** Mastra's memory over one of its stores, without semantic recall and working memory. It keeps all messages. */
export async function mastra(
  storage: MastraCompositeStore,
  close: () => Promise<unknown>,
): Promise<Contestant> {
  await storage.init();
  const options = { semanticRecall: false, workingMemory: { enabled: false }, generateTitle: false };
  const memory = new Memory({ storage, options });
  let time = Date.now();
  /** It orders messages by their time, so no two messages have the same time. Tool calls and tool results are texts here. */
  const toMessages = (threadId: string, messages: readonly ChatMessage[]): MastraDBMessage[] =>
    messages.map((message) => ({
      id: randomUUID(),
      threadId,
      resourceId: RESOURCE,
      createdAt: new Date(++time),
      ...shownOf(message),
    }));
  const read = async (threadId: string, perPage: number | false) => {
    const orderBy = { field: "createdAt", direction: "DESC" } as const;
    const { messages } = await memory.recall({ threadId, resourceId: RESOURCE, page: 0, perPage, orderBy });
    return messages.map(({ role, content }) => ({ role, content }));
  };
  return {
    async fill(threadId, messages) {
      const now = new Date();
      const thread = { id: threadId, resourceId: RESOURCE, title: "", createdAt: now, updatedAt: now };
      await memory.saveThread({ thread });
      await memory.saveMessages({ messages: toMessages(threadId, messages) });
    },
    open: (threadId) => ({
      append(messages) {
        const converted = toMessages(threadId, messages);
        return () => memory.saveMessages({ messages: converted });
      },
      newest: (count) => () => read(threadId, count),
      all: () => () => read(threadId, false),
    }),
    close,
  };
}

function shownOf({ role, content }: ChatMessage): Pick<MastraDBMessage, "role" | "content"> {
  const text = typeof content === "string" ? content : JSON.stringify(content);
  return {
    role: role === "user" ? "user" : "assistant",
    content: { format: 2, parts: [{ type: "text", text }] },
  };
}
