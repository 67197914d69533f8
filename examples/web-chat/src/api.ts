import type { Chat, ChatSummary, MessageStatus } from "@scrollback/chats";
import type { ChatMessage } from "../tools.ts";

export type { Chat, ChatMessage, ChatSummary };

/** An error answer of the server. `status` 0: the server did not answer. */
export class ApiError extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "ApiError";
    this.status = status;
  }
}

export interface ChatList {
  readonly chats: readonly ChatSummary[];
  readonly cursor?: string;
}

export interface MessageState {
  readonly status: MessageStatus;
  readonly error?: string;
}

export interface StoredChat {
  readonly chat: Chat;
  readonly messages: ChatMessage[];
  /** By message id. */
  readonly statuses: Readonly<Record<string, MessageState>>;
  /** The cursor of the messages before these; absent at the beginning of the chat. */
  readonly older?: string;
}

export interface ChatPatch {
  readonly title?: string;
  readonly pinned?: boolean;
  readonly archived?: boolean;
}

const PAGE = 50;
const chatUrl = (chatId: string) => `/api/chats/${encodeURIComponent(chatId)}`;

async function call(method: string, url: string, body?: unknown): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(
      url,
      body === undefined
        ? { method }
        : { method, headers: { "content-type": "application/json" }, body: JSON.stringify(body) },
    );
  } catch {
    throw new ApiError(0, "The server cannot be reached.");
  }
  if (response.ok) return response;
  const { message } = (await response.json().catch(() => ({}))) as { message?: string };
  throw new ApiError(response.status, message ?? response.statusText);
}

export async function listChats(query: {
  readonly limit: number;
  readonly archived: boolean;
  readonly pinned?: boolean;
  readonly cursor?: string;
}): Promise<ChatList> {
  const entries = Object.entries(query).map(([name, value]) => [name, String(value)]);
  const response = await call("GET", `/api/chats?${new URLSearchParams(entries)}`);
  return response.json();
}

export async function readChat(chatId: string, before?: string): Promise<StoredChat> {
  const query = new URLSearchParams({ limit: String(PAGE), ...(before === undefined ? {} : { before }) });
  return (await call("GET", `${chatUrl(chatId)}?${query}`)).json();
}

export async function updateChat(chatId: string, patch: ChatPatch): Promise<Chat> {
  return (await call("PATCH", chatUrl(chatId), patch)).json();
}

export async function deleteChat(chatId: string): Promise<void> {
  await call("DELETE", chatUrl(chatId));
}

export async function deleteAllChats(): Promise<void> {
  await call("DELETE", "/api/chats");
}

/** Creates a chat from the messages up to `at`, and returns its id. */
export async function forkChat(chatId: string, at: string): Promise<string> {
  const response = await call("POST", `${chatUrl(chatId)}/fork`, { at });
  const { id } = (await response.json()) as Chat;
  return id;
}

/** Returns when the existing part of the answer is saved. */
export async function stopAnswer(chatId: string): Promise<void> {
  await call("POST", `/api/chat/${encodeURIComponent(chatId)}/stop`);
}

export const exportUrl = (chatId: string) => `${chatUrl(chatId)}/export`;
