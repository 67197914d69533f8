import { hash } from "node:crypto";
import { nameOf } from "@scrollback/collections";
import type { Labels } from "./chat.ts";

/** The location of a chat. */
export interface ChatLocation {
  readonly owner: string;
  readonly chatId: string;
  readonly threadId: string;
  /** The name of the owner in thread ids and indexes. */
  readonly ownerName: string;
}

/** The threads and indexes of chats. Escaped names contain no colon, so no two names give the same one. */
export const names = {
  chats: (ownerName?: string) => `chats:chat:${ownerName === undefined ? "" : `${ownerName}:`}`,
  index: (ownerName: string, list: string) => `chats:list:${ownerName}:${list}`,
};

export function locationOf(owner: string, chatId: string): ChatLocation {
  const ownerName = nameOf(owner);
  return { owner, chatId, ownerName, threadId: names.chats(ownerName) + nameOf(chatId) };
}

/** The lists that have all chats of an owner: each chat is in one of them. */
export const bases = ["open", "archived"] as const;

/** The list of all chats that are archived, or not, or of those that are pinned or have a label besides. */
export function listOf(
  isArchived: boolean,
  facet?: "pinned" | readonly [label: string, value: unknown],
): string {
  const base = isArchived ? "archived" : "open";
  if (facet === undefined) return base;
  // The backend can see the names of indexes, but not the labels.
  const name = facet === "pinned" ? facet : hash("sha256", JSON.stringify(facet), "base64url");
  return `${base}:${name}`;
}

/** The lists of a chat. */
export function listsOf(
  chat: { readonly archived: boolean; readonly pinned: boolean; readonly labels: Labels },
  indexedLabels: readonly string[],
): string[] {
  const labels = indexedLabels.filter((name) => Object.hasOwn(chat.labels, name));
  return [
    listOf(chat.archived),
    ...(chat.pinned ? [listOf(chat.archived, "pinned")] : []),
    ...labels.map((name) => listOf(chat.archived, [name, chat.labels[name]])),
  ];
}
