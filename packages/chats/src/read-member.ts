import { StoreError } from "@scrollback/store-core";
import type { Identified } from "./chat.ts";
import { ChatView } from "./chat-view.ts";
import type { ChatContext } from "./context.ts";
import { summaryOf } from "./head.ts";
import { locationOf } from "./threads.ts";

/** Reads a chat for a list, because a write to it may be running. Reports a damaged chat, which must not hide the others. */
export async function readMember<M extends Identified>(
  { stores, onError }: ChatContext<M>,
  owner: string,
  chatId: string,
  signal: AbortSignal | undefined,
) {
  const { threadId } = locationOf(owner, chatId);
  const view = await ifReadable(ChatView.read<M>(stores, threadId, { limit: 0, signal }), (error) =>
    onError(error, "list"),
  );
  if (view === "unreadable") return view;
  const { head, expiresAt } = view;
  if (!head) return undefined;
  return {
    order: head.activeAt,
    version: head.writes,
    incarnation: head.incarnation,
    value: summaryOf(head),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** The result of a read of a chat, or `"unreadable"` if the chat is damaged. */
export async function ifReadable<T>(
  read: Promise<T>,
  report: (error: unknown) => void = () => undefined,
): Promise<T | "unreadable"> {
  try {
    return await read;
  } catch (error) {
    if (!StoreError.is(error, "CORRUPT")) throw error;
    report(error);
    return "unreadable";
  }
}
