import type { ChatEntry, OwnedChats, RunChange } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import type { UIMessage } from "ai";
import type { PostBody } from "./post-body.ts";
import { changeOf, editedMessage, type TurnRequest } from "./run-change.ts";

/** The fork in which a request is answered. */
export interface Branch<UI extends UIMessage> {
  readonly chatId: string;
  readonly change: RunChange<UI>;
}

/** Forks a chat before the message that a request would drop. */
export async function forkFor<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  { chatId, parentId }: PostBody,
  request: TurnRequest<UI>,
): Promise<Branch<UI>> {
  if (request.kind === "continue") invalid("chat: branch must be false for an answer to a tool call");
  const page = await chats.read(chatId);
  if (!page) throw new StoreError("NOT_FOUND", "chat: the chat does not exist; create it first");
  const { at, change } = forkPoint(page.entries, request, parentId);
  const fork = await chats.fork(chatId, { at, expectedRevision: page.chat.revision });
  return { chatId: fork.id, change };
}

function forkPoint<UI extends UIMessage>(
  entries: readonly ChatEntry<UI>[],
  request: Exclude<TurnRequest<UI>, { kind: "continue" }>,
  parentId: string | null | undefined,
): { at: string | null; change: RunChange<UI> } {
  const idBefore = (index: number) => entries[index - 1]?.message.id ?? null;
  const indexOf = (id: string | undefined) => entries.findLastIndex(({ message }) => message.id === id);
  if (request.kind === "submit") {
    const change = { append: [request.message] };
    if (request.messageId !== undefined)
      return { at: idBefore(indexOf(editedMessage(entries, request.messageId).id)), change };
    if (typeof parentId !== "string") return { at: idBefore(entries.length), change };
    if (indexOf(parentId) < 0)
      throw new StoreError("NOT_FOUND", "chat: the chat has no message with this parentId");
    return { at: parentId, change };
  }
  const change = changeOf(request, entries);
  const id = "dropAnswer" in change ? change.dropAnswer : undefined;
  const index =
    id === undefined ? entries.findLastIndex(({ message }) => message.role === "user") : indexOf(id);
  const message = entries[index]?.message;
  if (!message) throw new StoreError("NOT_FOUND", "chat: the chat has no message with this id");
  return { at: message.role === "user" ? message.id : idBefore(index), change: { nothing: true } };
}
