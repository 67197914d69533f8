import type { ChatEntry, RunChange } from "@scrollback/chats";
import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";
import { isSame } from "@scrollback/store-core/internal";
import type { ToolSet, UIMessage } from "ai";
import { closeDecidedCalls } from "../convert/close-answer.ts";
import type { MessageOptions } from "../options.ts";
import { isBlankAnswer, newestIndex } from "../parent-id.ts";
import { type Decisions, decidedMessage, decisionsOf } from "./decisions.ts";
import type { PostBody } from "./post-body.ts";
import { userMessage } from "./user-message.ts";

/** The decisions of a client about the tool calls of an answer. */
interface DecidedCalls {
  readonly messageId: string;
  readonly decisions: Decisions;
  readonly tools: ToolSet | undefined;
}

/** A request whose message is validated. */
export type TurnRequest<UI extends UIMessage> =
  | {
      readonly kind: "regenerate";
      readonly messageId: string | undefined;
      /** The required newest message of the user; undefined: any. */
      readonly lastUserMessageId: string | undefined;
    }
  | { readonly kind: "continue"; readonly calls: DecidedCalls }
  | {
      readonly kind: "submit";
      readonly messageId: string | undefined;
      readonly message: UI;
      /** The decisions that the client sent along. */
      readonly calls: DecidedCalls | undefined;
      /** The required newest message; undefined: any. */
      readonly parentId: string | null | undefined;
      /** The messages that the client shows: one that the chat lacks, such as a question whose request failed, hides no other. */
      readonly shownIds: readonly string[];
      /** For an edit: the required newest message of the user; undefined: any. */
      readonly lastUserMessageId: string | undefined;
    };

/** @throws StoreError `INVALID_ARGUMENT`. */
export async function readTurnRequest<UI extends UIMessage>(
  { isRegenerate, message, answer, messageId, parentId, shownIds, lastUserMessageId, isBranch }: PostBody,
  options: MessageOptions,
): Promise<TurnRequest<UI>> {
  // A branch drops nothing.
  const required = { messageId, lastUserMessageId: isBranch ? undefined : lastUserMessageId };
  if (isRegenerate) return { kind: "regenerate", ...required };
  const { role, id } = message as Partial<UIMessage>;
  if (role === "assistant") {
    if (typeof id !== "string") invalid("chat: message.id must be a string");
    return { kind: "continue", calls: await callsOf(id, message, options) };
  }
  const { id: answerId, role: answerRole } = (answer ?? {}) as Partial<UIMessage>;
  const hasCalls = answerRole === "assistant" && typeof answerId === "string";
  return {
    kind: "submit",
    ...required,
    parentId,
    shownIds,
    calls: hasCalls ? await callsOf(answerId, answer, options) : undefined,
    message: await userMessage<UI>(message, options),
  };
}

async function callsOf(
  messageId: string,
  message: unknown,
  { tools }: MessageOptions,
): Promise<DecidedCalls> {
  return { messageId, decisions: await decisionsOf(message, tools), tools };
}

/**
 * What a request keeps of a chat, and what it appends: a pure function of the request and the chat.
 *
 * @param stopped the id of the answer that the request has stopped.
 * @throws StoreError `CONFLICT` for a message that is stored elsewhere, answered or gone, and for a client that does not know the user's
 *   newest message and would drop it; `NOT_FOUND` for a regeneration without a question.
 */
export function decide<UI extends UIMessage>(
  request: TurnRequest<UI>,
  entries: readonly ChatEntry<UI>[],
  stopped?: string,
): RunChange<UI> {
  switch (request.kind) {
    case "regenerate":
      assertKnown(request, entries);
      return dropping(entries, questionsEnd(entries, request.messageId));
    case "continue": {
      const { messageId } = request.calls;
      if (indexOf(entries, messageId) < 0) throw gone(entries);
      const append = decidedFrom(entries, request.calls);
      if (!append) throw stale("the message has changed, and the decision no longer applies");
      return { keep: entries.length - append.length, append, continues: messageId };
    }
    case "submit":
      return submitted(request, entries, stopped);
  }
}

/** Drops the messages from an index on, and keeps them as a sibling, unless they say nothing. */
function dropping<UI extends UIMessage>(
  entries: readonly ChatEntry<UI>[],
  keep: number,
): Pick<RunChange<UI>, "keep" | "keepSibling"> {
  return { keep, keepSibling: entries.slice(keep).some(({ message }) => !isBlankAnswer(message)) };
}

type Submit<UI extends UIMessage> = Extract<TurnRequest<UI>, { kind: "submit" }>;

function submitted<UI extends UIMessage>(
  request: Submit<UI>,
  entries: readonly ChatEntry<UI>[],
  stopped: string | undefined,
): RunChange<UI> {
  const { message, messageId, calls } = request;
  const newest = newestIndex(entries.map((entry) => entry.message));
  if (isSame(entries[newest]?.message, message)) {
    if (stopped !== undefined) throw stale("the message is being answered");
    // Sent again, because its answer failed.
    return { keep: newest + 1 };
  }
  const isStored = indexOf(entries, message.id) >= 0;
  if (messageId !== undefined && (indexOf(entries, messageId) >= 0 || !isStored)) {
    const edited = editedMessage(entries, messageId);
    assertKnown(request, entries);
    return { ...dropping(entries, indexOf(entries, edited.id)), append: [message] };
  }
  if (isStored) throw stale("the message is stored already");
  assertParent(request, entries, stopped);
  const decided = calls && decidedFrom(entries, calls, closeDecidedCalls);
  return decided
    ? { keep: entries.length - decided.length, append: [...decided, message] }
    : { append: [message] };
}

/**
 * The messages from the decided one on; undefined if no decision is new.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an output that does not match its tool's schema.
 */
function decidedFrom<UI extends UIMessage>(
  entries: readonly ChatEntry<UI>[],
  { messageId, decisions, tools }: DecidedCalls,
  close = (message: UI, _: ToolSet | undefined) => message,
): UI[] | undefined {
  const [stored, ...later] = entries.slice(indexOf(entries, messageId)).map(({ message }) => message);
  const decided = stored?.id === messageId ? decidedMessage(stored, decisions, tools) : undefined;
  return decided && [close(decided, tools), ...later];
}

/** @throws StoreError `CONFLICT` unless the client's newest message is the chat's. */
function assertParent<UI extends UIMessage>(
  { parentId, shownIds }: Submit<UI>,
  entries: readonly ChatEntry<UI>[],
  stopped: string | undefined,
): void {
  if (parentId === undefined) return;
  if (typeof parentId === "string" && entries.length === 0)
    throw stale("the chat was deleted, or its messages were removed");
  // A client may not have the end of an answer that did not become whole, or nothing of it.
  const isOptional = ({ message, status }: ChatEntry<UI>) =>
    message.role === "assistant" &&
    (status !== "complete" || message.id === stopped || isBlankAnswer(message));
  const required = entries.findLastIndex((entry) => !isOptional(entry));
  const accepted = entries.slice(Math.max(required, 0)).map(({ message }) => message.id);
  const isNewest =
    parentId === null ? required < 0 : [parentId, ...shownIds].some((id) => accepted.includes(id));
  if (!isNewest) throw stale("other messages were added");
}

/** @throws StoreError `CONFLICT` for a client that does not know the user's newest message. */
function assertKnown<UI extends UIMessage>(
  { lastUserMessageId }: Extract<TurnRequest<UI>, { lastUserMessageId: unknown }>,
  entries: readonly ChatEntry<UI>[],
): void {
  const newest = entries.findLast(({ message }) => message.role === "user")?.message.id;
  if (lastUserMessageId !== undefined && lastUserMessageId !== newest)
    throw stale("other messages were added");
}

/** The number of messages before an answer: before `messageId`, behind it if it is a user's, or behind the last question. */
function questionsEnd<UI extends UIMessage>(
  entries: readonly ChatEntry<UI>[],
  messageId: string | undefined,
): number {
  const index = indexOf(entries, messageId);
  const last = entries.findLastIndex(({ message }) => message.role === "user");
  const isUnknown = messageId !== undefined && index < 0;
  // An answer that failed at once has an id in the tab alone.
  if (isUnknown && last < newestIndex(entries.map(({ message }) => message))) throw gone(entries);
  const found = index < 0 ? last : index;
  if (found < 0) throw new StoreError("NOT_FOUND", "chat: the chat has no question");
  return entries[found]?.message.role === "user" ? found + 1 : found;
}

function indexOf<UI extends UIMessage>(entries: readonly ChatEntry<UI>[], id: string | undefined): number {
  return entries.findLastIndex(({ message }) => message.id === id);
}

/** The page shows a message that was dropped, or is a sibling of one on the path. */
function gone(entries: readonly unknown[]): StoreError {
  if (entries.length === 0) return new StoreError("NOT_FOUND", "chat: the chat has no messages");
  return stale("the message of messageId is not shown in the chat any more");
}

/** The user's message that an edit replaces. @throws StoreError `CONFLICT`. */
export function editedMessage<UI extends UIMessage>(entries: readonly ChatEntry<UI>[], id: string): UI {
  const edited = entries[indexOf(entries, id)]?.message;
  if (!edited) throw gone(entries);
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
  if (!isSame(asked, request.message)) return false;
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
