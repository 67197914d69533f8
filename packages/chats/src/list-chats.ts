import { invalid, StoreError } from "@scrollback/store-core";
import type { ChatList, Identified, ListChats } from "./chat.ts";
import { deleteChat } from "./delete-chats.ts";
import { type Copying, type Head, listedChat, type StoredSummary } from "./head.ts";
import { readMember } from "./read-member.ts";
import type { RunContext } from "./run-context.ts";
import { locationOf, threads } from "./threads.ts";

const DEFAULT_LIMIT = 20;
/** An unfinished copy in several commits that is older than this is abandoned. A list removes it. */
const ABANDONED_AFTER_MS = 3_600_000;

/** One page of an owner's chats, newest first. */
export async function listChats<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  { limit = DEFAULT_LIMIT, cursor, archived = false, pinned, labels = {}, signal }: ListChats,
): Promise<ChatList> {
  const wanted = Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
  const abandoned: string[] = [];
  const isAbandoned = (copying: Copying | undefined) =>
    copying !== undefined && copying.since < context.now() - ABANDONED_AFTER_MS;
  const matches = (chat: StoredSummary) =>
    !chat.copying &&
    chat.archived === archived &&
    (pinned === undefined || chat.pinned === pinned) &&
    wanted.every(([name, value]) => chat.labels[name] === value);
  const request = {
    limit,
    filterName: JSON.stringify([archived, pinned ?? null, wanted]),
    filter: ({ key, value }: { key: readonly string[]; value: StoredSummary }) => {
      if (isAbandoned(value.copying)) abandoned.push(key[0] ?? "");
      return matches(value);
    },
    read: ([chatId = ""]: readonly string[]) => readMember(context, owner, chatId, signal),
    ...(cursor !== undefined && { pageToken: cursor }),
    ...(signal && { signal }),
  };
  try {
    const page = await context.directories.page(threads.directory(owner), request);
    for (const chatId of new Set(abandoned)) {
      const isMeant = ({ copying }: Head) => isAbandoned(copying);
      context.background(deleteChat(context, locationOf(owner, chatId), undefined, isMeant));
    }
    const chats = page.entries.map(({ key, value }) => listedChat(key[0] ?? "", value, context));
    return { chats, ...(page.nextPageToken !== undefined && { cursor: page.nextPageToken }) };
  } catch (cause) {
    if (cursor === undefined || !StoreError.is(cause, "INVALID_ARGUMENT")) throw cause;
    return invalid("list: cursor must come from a page with the same filters");
  }
}
