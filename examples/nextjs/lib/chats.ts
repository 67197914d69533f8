import { createChatHandler, uiMessages } from "@scrollback/bridge-ai-sdk";
import { ChatStore } from "@scrollback/chats";
import { openStores } from "@scrollback/store-core";
import type { UIMessage } from "ai";
import { model } from "./model";

async function open() {
  const stores = await openStores(process.env.DATABASE_URL ?? "sqlite:chats.db");
  const chats = new ChatStore<UIMessage>({ stores, ...uiMessages() });
  const handler = createChatHandler({ chats, model, title: { model }, onError: console.error });
  return { chats, handler };
}

// Next.js evaluates this module more than once: for pages, for routes, and after each edit in development.
const shared = globalThis as { scrollback?: ReturnType<typeof open> };

/** The stored chats, and the handler that answers in them. Opens the database at the first call. */
export function scrollback() {
  shared.scrollback ??= open();
  return shared.scrollback;
}
