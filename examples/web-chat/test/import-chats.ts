import type { ChatExport } from "@scrollback/chats";
import type { Page } from "playwright-core";

export interface PastChat {
  readonly title: string;
  readonly activeAt: number;
  readonly pinned?: boolean;
}

/** Gives the user of a page chats of the past, each with one message. */
export async function importChats(page: Page, chats: readonly PastChat[]): Promise<void> {
  for (const { title, activeAt, pinned = false } of chats) {
    const message = {
      id: crypto.randomUUID(),
      role: "user",
      parts: [{ type: "text", text: title }],
    } as const;
    const times = { createdAt: activeAt, updatedAt: activeAt };
    const exported: ChatExport = {
      type: "scrollback.chat",
      version: 1,
      chat: {
        ...{
          id: crypto.randomUUID(),
          title,
          titleBy: "user",
          pinned,
          archived: false,
          labels: {},
          metadata: {},
        },
        ...{ ...times, activeAt, messageCount: 1 },
        lastMessage: { id: message.id, role: message.role, text: title, createdAt: activeAt },
      },
      entries: [{ message, ...times, status: "complete" }],
    };
    const response = await page.request.post(new URL("/api/chats/import", page.url()).href, {
      data: exported,
    });
    if (!response.ok()) throw new Error(`a chat was not imported: ${await response.text()}`);
  }
}
