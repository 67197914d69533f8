import { type MouseEvent, useState } from "react";
import type { ChatSummary } from "../api.ts";
import { MoreIcon } from "../controls/icons.tsx";
import { Menu } from "../controls/Menu.tsx";
import { TitleEditor } from "../controls/TitleEditor.tsx";
import { chatPath } from "../state/use-route.ts";
import { type ChatCommands, chatMenu, titleOf } from "./chat-commands.tsx";

export function ChatListItem({
  chat,
  isCurrent,
  commands,
  onOpen,
}: {
  readonly chat: ChatSummary;
  readonly isCurrent: boolean;
  readonly commands: ChatCommands;
  readonly onOpen: (chatId: string) => void;
}) {
  const [isRenaming, setIsRenaming] = useState(false);
  const title = titleOf(chat);
  if (isRenaming) {
    return (
      <li className="chat-item renaming">
        <TitleEditor
          title={title}
          onDone={(next) => {
            setIsRenaming(false);
            if (next !== undefined) commands.rename(chat, next);
          }}
        />
      </li>
    );
  }
  const open = (event: MouseEvent) => {
    // With a modifier key, the browser opens the link in another tab.
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    onOpen(chat.id);
  };
  return (
    <li className="chat-item">
      <a
        href={chatPath(chat.id)}
        className="chat-link"
        aria-current={isCurrent ? "page" : undefined}
        title={title}
        onClick={open}
        onDoubleClick={() => setIsRenaming(true)}
      >
        <span className="chat-title">{title}</span>
        {chat.run && (
          <span className={`run-dot ${chat.run.state}`}>
            <span className="visually-hidden">
              {chat.run.state === "running" ? ", being answered" : ", interrupted"}
            </span>
          </span>
        )}
      </a>
      <Menu label={`Commands for ${title}`} items={chatMenu(chat, commands, () => setIsRenaming(true))}>
        <MoreIcon />
      </Menu>
    </li>
  );
}
