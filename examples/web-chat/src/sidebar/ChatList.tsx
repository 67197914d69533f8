import { useId, useState } from "react";
import type { ChatSummary } from "../api.ts";
import { groupByDate } from "../state/date-groups.ts";
import type { ChatListOfOwner } from "../state/use-chat-list.ts";
import { ChatListItem } from "./ChatListItem.tsx";
import type { ChatCommands } from "./chat-commands.tsx";

interface Props {
  readonly list: ChatListOfOwner;
  readonly isArchive: boolean;
  readonly currentId: string | undefined;
  readonly commands: ChatCommands;
  readonly onOpen: (chatId: string) => void;
}

export function ChatList({ list, isArchive, currentId, commands, onOpen }: Props) {
  const [isLoadingMore, setIsLoadingMore] = useState(false);
  const { status, pinned, chats, cursor } = list;
  const isEmpty = pinned.length + chats.length === 0;

  if (status === "failed" && isEmpty) {
    return (
      <div className="list-note" role="alert">
        <p>The chats could not be loaded.</p>
        <button type="button" className="button small" onClick={() => void list.refresh()}>
          Try again
        </button>
      </div>
    );
  }
  if (status === "loading") return <ListSkeleton />;
  if (isEmpty) {
    return (
      <p className="list-note">
        {isArchive ? "The archive is empty." : "No chats yet. Your first message starts one."}
      </p>
    );
  }

  const group = (heading: string, members: readonly ChatSummary[]) =>
    members.length > 0 && (
      <Group key={heading} heading={heading}>
        {members.map((chat) => (
          <ChatListItem
            key={chat.id}
            chat={chat}
            isCurrent={chat.id === currentId}
            commands={commands}
            onOpen={onOpen}
          />
        ))}
      </Group>
    );
  return (
    <>
      {group("Pinned", pinned)}
      {groupByDate(chats).map(({ heading, chats: members }) => group(heading, members))}
      {cursor !== undefined && (
        <button
          type="button"
          className="button small quiet load-more"
          disabled={isLoadingMore}
          onClick={() => {
            setIsLoadingMore(true);
            void list.loadMore().finally(() => setIsLoadingMore(false));
          }}
        >
          {isLoadingMore ? "Loading…" : "Load more"}
        </button>
      )}
    </>
  );
}

function Group({ heading, children }: { readonly heading: string; readonly children: React.ReactNode }) {
  const id = useId();
  return (
    <section className="chat-group" aria-labelledby={id}>
      <h2 id={id}>{heading}</h2>
      <ul>{children}</ul>
    </section>
  );
}

function ListSkeleton() {
  return (
    <div className="list-skeleton" role="status">
      <span className="visually-hidden">Loading chats</span>
      {["72%", "54%", "83%", "61%", "47%", "76%"].map((width) => (
        <span key={width} className="skeleton" style={{ width }} />
      ))}
    </div>
  );
}
