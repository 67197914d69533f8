import type { ChatEntry, OwnedChats, RunChange } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import type { UIMessage } from "ai";
import type { PostBody } from "./post-body.ts";
import { decide, editedMessage, type TurnRequest } from "./run-change.ts";

/** The fork in which a request is answered. */
export interface Branch<UI extends UIMessage> {
  readonly chatId: string;
  change(entries: readonly ChatEntry<UI>[]): RunChange<UI>;
}

/** Forks a chat before the message that a request would drop. */
export async function forkFor<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  { chatId, parentId }: PostBody,
  request: TurnRequest<UI>,
): Promise<Branch<UI>> {
  if (request.kind === "continue") invalid("chat: branch must be false for an answer to a tool call");
  const page = await chats.read(chatId, { files: "references" });
  if (!page) throw new StoreError("NOT_FOUND", "chat: the chat does not exist; create it first");
  const { at, change } = forkPoint(page.entries, request, parentId);
  const fork = await chats.fork(chatId, { at, expectedRevision: page.chat.revision });
  return { chatId: fork.id, change };
}

function forkPoint<UI extends UIMessage>(
  entries: readonly ChatEntry<UI>[],
  request: Exclude<TurnRequest<UI>, { kind: "continue" }>,
  parentId: string | null | undefined,
): Pick<Branch<UI>, "change"> & { readonly at: string | null } {
  const idBefore = (index: number) => entries[index - 1]?.message.id ?? null;
  if (request.kind === "regenerate")
    return { at: idBefore(decide(request, entries).keep ?? entries.length), change: () => ({}) };
  const { messageId } = request;
  const change = (forked: readonly ChatEntry<UI>[]) =>
    decide({ ...request, messageId: undefined, parentId: undefined }, forked);
  if (messageId !== undefined) {
    const edited = editedMessage(entries, messageId);
    return { at: idBefore(entries.findLastIndex(({ message }) => message === edited)), change };
  }
  if (typeof parentId !== "string") return { at: idBefore(entries.length), change };
  if (!entries.some(({ message }) => message.id === parentId))
    throw new StoreError("NOT_FOUND", "chat: the chat has no message with this parentId");
  return { at: parentId, change };
}
