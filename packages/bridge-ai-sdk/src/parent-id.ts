import type { UIMessage } from "ai";

/**
 * The id of the stored message before another one, or `null` if that is the first. Skips an answer without
 * content: `useChat` shows one when a model fails at once, and the server does not store it.
 */
export function parentIdOf(messages: readonly UIMessage[], index: number): string | null {
  return messages.slice(0, Math.max(index, 0)).findLast((message) => !isBlankAnswer(message))?.id ?? null;
}

/** The id of the user's newest message. */
export function lastUserId(messages: readonly UIMessage[]): string | undefined {
  return messages.findLast(({ role }) => role === "user")?.id;
}

/** Whether an answer has no content yet. */
export function isBlankAnswer({ role, parts }: UIMessage): boolean {
  return role === "assistant" && Array.isArray(parts) && parts.every((part) => part?.type === "step-start");
}
