import { connection } from "next/server";
import type { ReactNode } from "react";
import { ChatList } from "@/components/chat-list";
import { scrollback } from "@/lib/chats";
import { currentUser } from "@/lib/user";

export default async function ChatLayout({ children }: { children: ReactNode }) {
  await connection(); // not at build time
  const { chats } = await scrollback();
  const list = await chats.of(await currentUser()).list({ limit: 50 });
  return (
    <div className="columns">
      <ChatList chats={list.chats.map(({ id, title = "Untitled" }) => ({ id, title }))} />
      {children}
    </div>
  );
}
