"use client";

import Link from "next/link";
import { usePathname, useRouter } from "next/navigation";
import { useState, useTransition } from "react";
import { deleteChat, renameChat } from "@/app/chat/actions";

interface ListedChat {
  id: string;
  title: string;
}

export function ChatList({ chats }: { chats: ListedChat[] }) {
  return (
    <nav className="chats" aria-label="Chats">
      <Link href="/" prefetch={false}>
        New chat
      </Link>
      <ul>
        {chats.map((chat) => (
          <ChatItem key={chat.id} chat={chat} />
        ))}
      </ul>
    </nav>
  );
}

function ChatItem({ chat: { id, title } }: { chat: ListedChat }) {
  const router = useRouter();
  const isOpen = usePathname() === `/chat/${id}`;
  const [isRenaming, setIsRenaming] = useState(false);
  const [isDeleting, startDeleting] = useTransition();

  async function rename(data: FormData) {
    await renameChat(id, String(data.get("title")));
    setIsRenaming(false);
  }

  function remove() {
    startDeleting(async () => {
      await deleteChat(id);
      if (isOpen) router.push("/");
    });
  }

  if (isRenaming)
    return (
      <li>
        <form action={rename}>
          <input name="title" aria-label="Title" defaultValue={title} maxLength={512} required />
          <button type="submit">Save</button>
        </form>
      </li>
    );
  return (
    <li aria-busy={isDeleting}>
      <Link href={`/chat/${id}`} aria-current={isOpen ? "page" : undefined}>
        {title}
      </Link>
      <button type="button" aria-label={`Rename ${title}`} onClick={() => setIsRenaming(true)}>
        Rename
      </button>
      <button type="button" aria-label={`Delete ${title}`} onClick={remove} disabled={isDeleting}>
        Delete
      </button>
    </li>
  );
}
