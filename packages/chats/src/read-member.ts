import type { Identified } from "./chat.ts";
import { ChatView } from "./chat-view.ts";
import type { ChatContext } from "./context.ts";
import { summaryOf } from "./head.ts";
import { locationOf } from "./threads.ts";

/** Reads a chat for a list, because a write to it may be running. */
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
