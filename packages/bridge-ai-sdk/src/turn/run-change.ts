import { isDeepStrictEqual } from "node:util";
import type { ChatEntry, RunChange } from "@scrollback/chats";
import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import type { ToolSet, UIMessage } from "ai";
import type { MessageOptions } from "../options.ts";
import { type Decisions, decidedMessage, decisionsOf } from "./decisions.ts";
import type { PostBody } from "./post-body.ts";
import { userMessage } from "./user-message.ts";

/** A request whose message is validated. */
export type TurnRequest<UI extends UIMessage> =
  | {
      readonly kind: "regenerate";
      readonly messageId: string | undefined;
      /** The required newest message of the user; undefined: any. */
      readonly lastUserMessageId: string | undefined;
    }
  | {
      readonly kind: "continue";
      readonly messageId: string;
      readonly decisions: Decisions;
      readonly tools: ToolSet | undefined;
    }
  | {
      readonly kind: "submit";
      readonly messageId: string | undefined;
      readonly message: UI;
      /** The required last stored message; undefined: any. */
      readonly parentId: string | null | undefined;
      /** For an edit: the required newest message of the user; undefined: any. */
      readonly lastUserMessageId: string | undefined;
    };

/** @throws StoreError `INVALID_ARGUMENT`. */
export async function readTurnRequest<UI extends UIMessage>(
  { isRegenerate, message, messageId, parentId, lastUserMessageId, isBranch }: PostBody,
  options: MessageOptions,
): Promise<TurnRequest<UI>> {
  // A branch drops nothing.
  const required = { messageId, lastUserMessageId: isBranch ? undefined : lastUserMessageId };
  if (isRegenerate) return { kind: "regenerate", ...required };
  const { role, id } = message as Partial<UIMessage>;
  if (role !== "assistant")
    return { kind: "submit", ...required, parentId, message: await userMessage<UI>(message, options) };
  if (typeof id !== "string") invalid("chat: message.id must be a string");
  const { tools } = options;
  return { kind: "continue", messageId: id, decisions: await decisionsOf(message, tools), tools };
}

/**
 * The change of a request to the current chat.
 *
 * @throws StoreError `CONFLICT` for a message that is stored elsewhere, or answered, and for a client that does not know the user's
 *   newest message and would drop it; `NOT_FOUND` for an edit of an unknown message.
 */
export function changeOf<UI extends UIMessage>(
  request: TurnRequest<UI>,
  entries: readonly ChatEntry<UI>[],
): RunChange<UI> {
  const indexOf = (id: string | undefined) => entries.findLastIndex(({ message }) => message.id === id);
  const last = entries.at(-1)?.message;
  const assertKnown = ({ lastUserMessageId }: Extract<typeof request, { lastUserMessageId: unknown }>) => {
    if (lastUserMessageId === undefined) return;
    const newest = entries.findLast(({ message }) => message.role === "user")?.message.id;
    if (lastUserMessageId !== newest) throw stale("other messages were added");
  };
  if (request.kind === "regenerate") {
    assertKnown(request);
    const isUnknown = indexOf(request.messageId) < 0 && last?.role === "user";
    return { dropAnswer: isUnknown ? undefined : request.messageId };
  }
  if (request.kind === "continue") {
    const { messageId, decisions, tools } = request;
    return { replace: messageId, with: (stored) => decidedMessage(stored, decisions, tools) };
  }
  const { message, messageId, parentId } = request;
  if (last && isDeepStrictEqual(last, message)) return { nothing: true };
  const isStored = indexOf(message.id) >= 0;
  if (messageId !== undefined && (indexOf(messageId) >= 0 || !isStored)) {
    const edited = editedMessage(entries, messageId);
    assertKnown(request);
    return { edit: edited.id, message };
  }
  if (isStored) throw stale("the message is stored already");
  if (typeof parentId === "string" && !last)
    throw stale("the chat was deleted, or its messages were removed");
  if (parentId !== undefined && parentId !== (last?.id ?? null)) throw stale("other messages were added");
  return { append: [message] };
}

/** The user's message that an edit replaces. @throws StoreError `NOT_FOUND`, `CONFLICT`. */
export function editedMessage<UI extends UIMessage>(entries: readonly ChatEntry<UI>[], id: string): UI {
  const edited = entries.findLast(({ message }) => message.id === id)?.message;
  if (!edited) throw new StoreError("NOT_FOUND", "chat: the chat has no message with this messageId");
  if (edited.role !== "user") throw stale("the message of messageId is not a user's");
  return edited;
}

/** Whether a request is already being answered: its message equals the user's last message, including the content. */
export function isAsked<UI extends UIMessage>(
  request: TurnRequest<UI>,
  entries: readonly ChatEntry<UI>[],
): boolean {
  if (request.kind !== "submit") return false;
  const asked = entries.findLast(({ message }) => message.role === "user")?.message;
  if (!isDeepStrictEqual(asked, request.message)) return false;
  // An edit replaces the message `messageId`: if that message still exists, it was not this edit.
  const replaced = entries.findLast(({ message }) => message.id === request.messageId);
  return replaced === undefined || replaced.message === asked;
}

function stale(problem: string): StoreError {
  return new StoreError("CONFLICT", `chat: ${problem}; load the chat again`);
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: StoreErrorCode[]): boolean {
  return codes.some((code) => StoreError.is(error, code));
}
