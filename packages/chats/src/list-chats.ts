import { invalid, StoreError } from "@scrollback/store-core";
import type { ChatList, Identified, ListChats } from "./chat.ts";
import { ChatView } from "./chat-view.ts";
import type { ChatContext } from "./context.ts";
import { listedChat, type StoredSummary, summaryOf } from "./head.ts";
import { locationOf, threads } from "./threads.ts";

const DEFAULT_LIMIT = 20;

/** One page of an owner's chats, newest first. */
export async function listChats<M extends Identified>(
  context: ChatContext<M>,
  owner: string,
  { limit = DEFAULT_LIMIT, cursor, archived = false, pinned, labels = {}, signal }: ListChats,
): Promise<ChatList> {
  const wanted = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  const matches = (chat: StoredSummary) =>
    chat.archived === archived &&
    (pinned === undefined || chat.pinned === pinned) &&
    wanted.every(([name, value]) => chat.labels[name] === value);
  const request = {
    limit,
    filterName: JSON.stringify([archived, pinned ?? null, wanted]),
    filter: ({ value }: { value: StoredSummary }) => matches(value),
    read: ([chatId = ""]: readonly string[]) => readMember(context, owner, chatId, signal),
    ...(cursor !== undefined && { pageToken: cursor }),
    ...(signal && { signal }),
  };
  try {
    const page = await context.directories.page(threads.directory(owner), request);
    const chats = page.entries.map(({ key, value }) => listedChat(key[0] ?? "", value));
    return { chats, ...(page.nextPageToken !== undefined && { cursor: page.nextPageToken }) };
  } catch (cause) {
    if (cursor === undefined || !StoreError.is(cause, "INVALID_ARGUMENT")) throw cause;
    return invalid("list: cursor must be that of a page with the same filters");
  }
}

/** What a list learns of a chat that may be under change. */
export async function readMember<M extends Identified>(
  { stores }: ChatContext<M>,
  owner: string,
  chatId: string,
  signal: AbortSignal | undefined,
) {
  const { threadId } = locationOf(owner, chatId);
  const { head, expiresAt } = await ChatView.read<M>(stores, threadId, { limit: 0, signal });
  if (!head) return undefined;
  return {
    order: head.activeAt,
    version: head.writes,
    incarnation: head.incarnation,
    value: summaryOf(head),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
