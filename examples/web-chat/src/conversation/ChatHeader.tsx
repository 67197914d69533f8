import { useEffect, useState } from "react";
import type { ChatSummary } from "../api.ts";
import { IconButton } from "../controls/IconButton.tsx";
import { BranchIcon, MenuIcon, MoreIcon, PinIcon } from "../controls/icons.tsx";
import { Menu } from "../controls/Menu.tsx";
import { TitleEditor } from "../controls/TitleEditor.tsx";
import { type ChatCommands, chatMenu, titleOf } from "../sidebar/chat-commands.tsx";
import { chatPath } from "../state/use-route.ts";

interface Props {
  readonly chat: ChatSummary | undefined;
  readonly isNew: boolean;
  readonly commands: ChatCommands;
  readonly onShowChats: (() => void) | undefined;
  readonly onOpen: (chatId: string | undefined) => void;
}

export function ChatHeader({ chat, isNew, commands, onShowChats, onOpen }: Props) {
  const [isRenaming, setIsRenaming] = useState(false);
  const title = chat === undefined ? (isNew ? "New chat" : "Chat") : titleOf(chat);
  useEffect(() => {
    document.title = `${title} · Scrollback`;
  }, [title]);
  const source = chat?.forkedFrom?.chatId;
  return (
    <header className="chat-header">
      {onShowChats && (
        <IconButton label="Show the list of chats" onClick={onShowChats}>
          <MenuIcon />
        </IconButton>
      )}
      {isRenaming && chat ? (
        <TitleEditor
          title={title}
          onDone={(next) => {
            setIsRenaming(false);
            if (next !== undefined) commands.rename(chat, next);
          }}
        />
      ) : (
        <h1 title={title}>{title}</h1>
      )}
      {chat?.pinned && (
        <span className="header-note" title="Pinned">
          <PinIcon />
          <span className="visually-hidden">Pinned</span>
        </span>
      )}
      {source !== undefined && (
        <a
          className="header-note link"
          href={chatPath(source)}
          onClick={(event) => {
            event.preventDefault();
            onOpen(source);
          }}
        >
          <BranchIcon />
          Branch
          <span className="visually-hidden"> of another chat, open that one</span>
        </a>
      )}
      <span className="spacer" />
      {chat && (
        <Menu label="Commands for this chat" items={chatMenu(chat, commands, () => setIsRenaming(true))}>
          <MoreIcon />
        </Menu>
      )}
    </header>
  );
}
