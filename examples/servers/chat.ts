import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import { openStores } from "@scrollback/store-core";
import type { UIMessage } from "ai";
import { model } from "./model.ts";

const stores = await openStores(process.env.DATABASE_URL ?? "sqlite:chats.db");
const chats = new ChatStore<UIMessage>({ stores, ...uiMessages() });
const chat = createChatHandler({ chats, model, onError: console.error });

/** The id of the signed-in user, from your authentication. */
const userOf = (request: Request) => request.headers.get("x-user") ?? undefined;

export async function answer(request: Request): Promise<Response> {
  const owner = userOf(request);
  if (owner === undefined) return new Response(null, { status: 401 });
  return chat.fetch(request, { owner });
}
