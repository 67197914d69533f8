import { threadsWithFiles } from "@scrollback/collections/internal";
import type { Identified } from "../chat.ts";
import { type ListedChat, memberOf } from "../read/listed-chat.ts";
import type { RunContext } from "../run/runs.ts";
import { basesOf, type ChatLocation, locationOf, prefixOf } from "../threads.ts";
import { RETRIES } from "../write/write-chat.ts";

/** Deletes a chat and what lists have of it, if `isMeant` says that it is meant. */
export async function deleteChat<M extends Identified>(
  context: RunContext<M>,
  location: ChatLocation,
  options: { readonly signal?: AbortSignal | undefined; isMeant?(chat: ListedChat): boolean },
): Promise<void> {
  const { lists, runs, followers } = context;
  const { threadId } = location;
  const removed = await lists.remove(memberOf(context, location), { ...options, ...RETRIES });
  if (removed) runs.abort(threadId, removed.head.run?.id, "deleted");
  followers.notify(threadId);
}

/** Deletes all chats of an owner that exist now, and files of chats whose creation did not come to its end. */
export async function deleteAllChats<M extends Identified>(
  context: RunContext<M>,
  owner: string,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { ownerName } = locationOf(owner, owner);
  await context.lists.removeAll(
    basesOf(ownerName),
    async ({ key }) => await deleteChat(context, locationOf(owner, key), { signal }),
    signal,
  );
  const prefix = prefixOf(ownerName);
  for await (const threadId of threadsWithFiles(context.stores, prefix, signal))
    await context.sweep(threadId, signal);
}
