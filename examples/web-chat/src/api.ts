import { ChatClientError, chatClient, type LoadedChat } from "@scrollback/bridge-ai-sdk/client";
import type { Chat, ChatSummary } from "@scrollback/chats";
import type { ChatMessage } from "../tools.ts";

export { type Chat, ChatClientError, type ChatMessage, type ChatSummary };
export type StoredChat = LoadedChat<ChatMessage>;
export type MessageState = StoredChat["statuses"][string];

/** What the sidebar changes of a chat. */
export interface ChatPatch {
  readonly title?: string;
  readonly pinned?: boolean;
  readonly archived?: boolean;
}

const PAGE = 50;
export const client = chatClient<ChatMessage>();

/** The newest messages of a chat, or those before a cursor. */
export const readChat = (chatId: string, before?: string): Promise<StoredChat> =>
  client.get(chatId, { limit: PAGE, ...(before !== undefined && { before }) });

/** A route of this example's server, not of the chat handler. */
export async function deleteAllChats(): Promise<void> {
  const response = await fetch("/api/chats", { method: "DELETE" });
  if (!response.ok) throw new ChatClientError(response.status, await response.text());
}
