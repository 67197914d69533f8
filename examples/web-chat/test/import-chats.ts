import type { ChatExport } from "@scrollback/chats";
import type { Page } from "playwright-core";

export interface PastChat {
  readonly title: string;
  readonly activeAt: number;
  readonly pinned?: boolean;
  /** The texts of the user and the assistant in turn. Default: only the title. */
  readonly texts?: readonly string[];
}

/** Imports old chats for the user of a page. */
export async function importChats(page: Page, chats: readonly PastChat[]): Promise<void> {
  const url = new URL("/api/chats/import", page.url()).href;
  for (const chat of chats) {
    const response = await page.request.post(url, { data: exportOf(chat) });
    if (!response.ok()) throw new Error(`a chat was not imported: ${await response.text()}`);
  }
}

function exportOf({ title, activeAt, pinned = false, texts = [title] }: PastChat): ChatExport {
  const times = { createdAt: activeAt, updatedAt: activeAt };
  const messages = texts.map((text, index) => ({
    id: crypto.randomUUID(),
    role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
    parts: [{ type: "text", text }],
  }));
  return {
    type: "scrollback.chat",
    version: 2,
    chat: {
      ...{ id: crypto.randomUUID(), title, titleBy: "user", labels: {}, metadata: {} },
      ...{ ...times, activeAt, pinned, archived: false, messageCount: messages.length },
    },
    entries: messages.map((message) => ({ message, ...times, status: "complete" })),
  };
}
