import { nameOf } from "@scrollback/collections";
import { ifReadable } from "@scrollback/collections/internal";
import type { Identified } from "../chat.ts";
import { ChatView } from "../read/chat-view.ts";
import { listedAs, memberOf } from "../read/listed-chat.ts";
import type { RunContext } from "../run/runs.ts";
import { indexesOf, prefixOf } from "../threads.ts";

/** Lists the chats of an owner, or of all, as their threads say. */
export async function rebuildLists<M extends Identified>(
  context: RunContext<M>,
  ownerId: string | undefined,
  signal: AbortSignal | undefined,
): Promise<number> {
  const { stores, lists, indexedLabels, onError } = context;
  const prefix = prefixOf(ownerId === undefined ? undefined : nameOf(ownerId));
  let count = 0;
  for await (const { threadId } of stores.iterateThreads({ prefix, ...(signal && { signal }) })) {
    const view = await ifReadable(ChatView.read<M>(stores, threadId, { limit: 0, signal }), (error) =>
      onError(error, "list"),
    );
    if (view === "unreadable" || !view.head || view.revision === null) continue;
    const { head, revision, expiresAt } = view;
    const [, , ownerName = ""] = threadId.split(":");
    const member = memberOf(context, { threadId, ownerName, chatId: head.id });
    await lists.place(member, listedAs(head, revision, expiresAt), indexesOf(ownerName, head, indexedLabels));
    count++;
  }
  return count;
}
