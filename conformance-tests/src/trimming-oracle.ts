import type { ChatMessage, StoreOptions } from "@scrollback/store-core";

// Clause C6, word for word, over plain lists. Independent: it does not use store-core's trimming.

const partTypesOf = ({ content }: ChatMessage) =>
  typeof content === "string" ? [] : content.map(({ type }) => type);

const bearsToolResult = (message: ChatMessage) =>
  message.role === "tool" || partTypesOf(message).includes("tool-result");

const makesToolCall = (message: ChatMessage) => partTypesOf(message).includes("tool-call");

const isReasoningAlone = (message: ChatMessage) => {
  const types = partTypesOf(message);
  return types.length > 0 && types.every((type) => type === "reasoning");
};

const isUser = (message: ChatMessage) => message.role === "user" && !bearsToolResult(message);

const standsForTrimmed = ({ metadata }: ChatMessage) =>
  (metadata as { type?: unknown } | undefined)?.type === "scrollback.summary";

/** The messages that a thread with `messages` has after trimming. */
export function trimmed(
  messages: readonly ChatMessage[],
  maxMessages: number,
  trimming: NonNullable<StoreOptions["trimming"]>,
): readonly ChatMessage[] {
  if (messages.length <= maxMessages) return messages;
  if (trimming === "exact") return messages.slice(messages.length - maxMessages);
  const leading = maxMessages >= 2 ? messages.slice(0, 1).filter(({ role }) => role === "system") : [];
  const item = messages.findLastIndex(standsForTrimmed);
  let from = messages.length - (maxMessages - leading.length);
  if (item >= 0 && item < from) from += 1;
  const start = startOf(messages, from);
  const kept = item >= 0 && item < start ? messages.slice(item, item + 1) : [];
  return [...leading, ...kept, ...messages.slice(start)];
}

/** Where the kept tail starts, if the messages from `from` on fit. */
function startOf(messages: readonly ChatMessage[], from: number): number {
  const isFitting = (index: number) => index >= from;
  const user = messages.findIndex((message, index) => isFitting(index) && isUser(message));
  if (user >= 0) return user;
  const other = messages.findIndex((message, index) => {
    const before = messages[index - 1];
    const isPart = before && (makesToolCall(before) || isReasoningAlone(before));
    return isFitting(index) && !bearsToolResult(message) && !isPart;
  });
  if (other >= 0) return other;
  const last = messages.findLastIndex(
    (message, index) =>
      isFitting(index) && (bearsToolResult(message) || makesToolCall(message) || isReasoningAlone(message)),
  );
  return last >= 0 ? last + 1 : from;
}
