import { type ChatSummary, client } from "../api.ts";
import { ArchiveIcon, DeleteIcon, EditIcon, ExportIcon, PinIcon } from "../controls/icons.tsx";
import type { MenuItem } from "../controls/Menu.tsx";

export interface ChatCommands {
  rename(chat: ChatSummary, title: string): void;
  setPinned(chat: ChatSummary, pinned: boolean): void;
  setArchived(chat: ChatSummary, archived: boolean): void;
  /** Asks for confirmation. */
  remove(chat: ChatSummary): void;
}

export const titleOf = ({ title, lastMessage }: Pick<ChatSummary, "title" | "lastMessage">) =>
  title ?? ([...(lastMessage?.text ?? "")].slice(0, 80).join("") || "Untitled chat");

/** The commands for a chat, in the sidebar and above the conversation. */
export function chatMenu(chat: ChatSummary, commands: ChatCommands, startRename: () => void): MenuItem[] {
  const { pinned, archived } = chat;
  const pin: MenuItem = {
    label: pinned ? "Unpin" : "Pin",
    icon: <PinIcon />,
    choose: () => commands.setPinned(chat, !pinned),
  };
  return [
    { label: "Rename", icon: <EditIcon />, choose: startRename },
    ...(archived ? [] : [pin]),
    {
      label: archived ? "Move out of the archive" : "Archive",
      icon: <ArchiveIcon />,
      choose: () => commands.setArchived(chat, !archived),
    },
    { label: "Export", icon: <ExportIcon />, choose: () => download(chat) },
    { label: "Delete", icon: <DeleteIcon />, isDangerous: true, choose: () => commands.remove(chat) },
  ];
}

function download(chat: ChatSummary): void {
  const link = document.createElement("a");
  link.href = client.exportUrl(chat.id);
  link.download = `${titleOf(chat)}.json`;
  link.click();
}
