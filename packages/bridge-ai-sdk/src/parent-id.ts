import type { UIMessage } from "ai";

/**
 * The index of the newest message of a chat; -1 if it has none. An answer without content is none: `useChat` shows one when a model
 * fails at once, and an answer that ends before its first part is stored as one.
 */
export function newestIndex(messages: readonly UIMessage[]): number {
  return messages.findLastIndex((message) => !isBlankAnswer(message));
}

/** The id of the newest message before another one, or `null` if that is the first. */
export function parentIdOf(messages: readonly UIMessage[], index: number): string | null {
  const before = messages.slice(0, Math.max(index, 0));
  return before[newestIndex(before)]?.id ?? null;
}

/** The id of the user's newest message. */
export function lastUserId(messages: readonly UIMessage[]): string | undefined {
  return messages.findLast(({ role }) => role === "user")?.id;
}

/** Whether an answer has no content yet. */
export function isBlankAnswer({ role, parts }: UIMessage): boolean {
  return role === "assistant" && Array.isArray(parts) && parts.every((part) => part?.type === "step-start");
}
