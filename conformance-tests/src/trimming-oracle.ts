import type { ChatMessage, Trimming } from "@scrollback/store-core";

// What clause C6 says, word by word, over plain lists. Stands by itself: nothing of store-core's trimming is used.

const bearsToolResult = ({ role, content }: ChatMessage) =>
  role === "tool" || (typeof content !== "string" && content.some((part) => part.type === "tool-result"));

const isUser = (message: ChatMessage) => message.role === "user" && !bearsToolResult(message);

/** What a thread that would hold `messages` holds once it is trimmed. */
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
