import type { ChatMessage, Trimming } from "@scrollback/store-core";

// Clause C6, word for word, over plain lists. Independent: it does not use store-core's trimming.

const bearsToolResult = ({ role, content }: ChatMessage) =>
  role === "tool" || (typeof content !== "string" && content.some((part) => part.type === "tool-result"));

const isUser = (message: ChatMessage) => message.role === "user" && !bearsToolResult(message);

/** The messages that a thread with `messages` has after trimming. */
export function trimmed(
  messages: readonly ChatMessage[],
  maxMessages: number,
  trimming: Trimming,
): readonly ChatMessage[] {
  if (messages.length <= maxMessages) return messages;
  if (trimming === "exact") return messages.slice(messages.length - maxMessages);
  const leading = maxMessages >= 2 ? messages.slice(0, 1).filter(({ role }) => role === "system") : [];
  const newest = messages.slice(messages.length - (maxMessages - leading.length));
  const starts = [newest.findIndex(isUser), newest.findIndex((message) => !bearsToolResult(message)), 0];
  return [...leading, ...newest.slice(starts.find((start) => start >= 0))];
}
