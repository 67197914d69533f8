import { nameOf } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";
import { sha256 } from "@scrollback/store-core/internal";
import type { Labels } from "./chat.ts";

/** The location of a chat. */
export interface ChatLocation {
  readonly owner: string;
  readonly chatId: string;
  readonly threadId: string;
  /** The name of the owner in thread ids and indexes. */
  readonly ownerName: string;
}

/** The beginning of the ids of chats' threads. Escaped names contain no colon, so no two names give the same thread or index. */
export function prefixOf(ownerName?: string): string {
  return `chats:chat:${ownerName === undefined ? "" : `${ownerName}:`}`;
}

export function locationOf(owner: string, chatId: string): ChatLocation {
  const ownerName = nameOf(owner);
  return { owner, chatId, ownerName, threadId: prefixOf(ownerName) + nameOf(chatId) };
}

/** The index of all chats that are archived, or not, or of those that are pinned or have a label besides. */
export function indexOf(
  ownerName: string,
  isArchived: boolean,
  facet?: "pinned" | readonly [label: string, value: unknown],
): string {
  const base = `chats:${isArchived ? "archived" : "open"}:${ownerName}`;
  if (facet === undefined) return base;
  // The backend can see the names of indexes, but not the labels.
  return `${base}:${facet === "pinned" ? facet : sha256(JSON.stringify(facet))}`;
}

/** The indexes that have all chats of an owner: each chat is in one of them. */
export function basesOf(ownerName: string): string[] {
  return [false, true].map((isArchived) => indexOf(ownerName, isArchived));
}

/** The indexes of a chat. */
export function indexesOf(
  ownerName: string,
  {
    archived,
    pinned,
    labels,
  }: { readonly archived: boolean; readonly pinned: boolean; readonly labels: Labels },
  indexedLabels: readonly string[],
): string[] {
  const named = indexedLabels.filter((name) => Object.hasOwn(labels, name));
  return [
    indexOf(ownerName, archived),
    ...(pinned ? [indexOf(ownerName, archived, "pinned")] : []),
    ...named.map((name) => indexOf(ownerName, archived, [name, labels[name]])),
  ];
}

/** A new id. Equal for each call with the same operation id, so that a repeated call finds what the first one created. */
export function idOfOperation(stores: StoreFactory, of: string, operationId: string | undefined): string {
  if (operationId === undefined) return stores.open().threadId;
  const text = sha256(JSON.stringify([of, operationId]), "hex");
  // A UUID of version 8: the application chooses its bits.
  return text.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-8$3-8$4-$5");
}
