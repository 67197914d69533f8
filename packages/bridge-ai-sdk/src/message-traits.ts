import { isCompactionPart, isObject, type MessageTraits } from "@scrollback/store-core";
import type { UIMessage } from "ai";

const roles: readonly unknown[] = ["system", "user", "assistant"] satisfies UIMessage["role"][];

/** The problem of a value that should be a UI message. Checks its structure only: schemas of tools and data are asynchronous. */
export function uiMessageProblem(message: unknown): string | undefined {
  const problem = isObject(message);
  if (problem) return problem;
  const { id, role, parts } = message as Partial<Record<keyof UIMessage, unknown>>;
  if (typeof id !== "string") return "id must be a string";
  if (!roles.includes(role)) return `role must be "system", "user" or "assistant"`;
  if (!Array.isArray(parts)) return "parts must be an array";
  const index = parts.findIndex((part) => isObject(part) || typeof part.type !== "string");
  return index < 0 ? undefined : `parts[${index}] must be an object with a type`;
}

/**
 * For stores of plain UI messages: `openStores(url, { traits: uiMessageTraits })`. A UI message contains a tool call together
 * with its result, so trimming cannot separate them, and these traits list neither. Trimming keeps the newest answer with a
 * provider's compaction.
 */
export const uiMessageTraits: MessageTraits<UIMessage> = Object.freeze({
  role: (message: UIMessage) => message.role,
  toolCalls: () => [],
  toolResults: () => [],
  isCompaction: ({ role, parts }: UIMessage) =>
    role === "assistant" &&
    parts.some((part) => isCompactionPart(part, "providerMetadata" in part && part.providerMetadata)),
  check: uiMessageProblem,
});
