import type { MessageTraits } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import { isCompactionPart } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";

const roles: readonly unknown[] = ["system", "user", "assistant"] satisfies UIMessage["role"][];

/** The problem of a value that should be a UI message. Checks its structure only: schemas of tools and data are asynchronous. */
export function uiMessageProblem(message: unknown): string | undefined {
  const problem = isObject(message);
  if (problem) return problem;
  const { id, role, content, parts } = message as Readonly<Record<string, unknown>>;
  if (isOlderMessage(message)) return "it is a message of AI SDK 4; convert it with upgradeUIMessages";
  if (typeof id !== "string") return "id must be a string";
  if (!roles.includes(role)) return `role must be "system", "user" or "assistant"`;
  if (!Array.isArray(parts))
    return content !== undefined
      ? "parts must be an array; it has content, as messages for models do: convert them with fromModelMessages"
      : "parts must be an array";
  const index = parts.findIndex((part) => isObject(part) || typeof part.type !== "string");
  return index < 0 ? undefined : `parts[${index}] must be an object with a type`;
}

/** Whether a value is a UI message of AI SDK 4. */
export function isOlderMessage(message: unknown): message is Readonly<Record<string, unknown>> {
  if (isObject(message)) return false;
  const { content, parts, ...fields } = message as Readonly<Record<string, unknown>>;
  if (["toolInvocations", "experimental_attachments"].some((name) => fields[name] !== undefined)) return true;
  return Array.isArray(parts) ? parts.some(isOlderPart) : typeof content === "string";
}

/** Whether a value is a part of a UI message of AI SDK 4 that later versions do not read. */
export function isOlderPart(part: unknown): part is Readonly<Record<string, unknown>> {
  if (isObject(part)) return false;
  const { type, ...fields } = part as Readonly<Record<string, unknown>>;
  if (type === "tool-invocation") return typeof fields.toolInvocation === "object";
  if (type === "source") return typeof fields.source === "object";
  if (type === "reasoning") return typeof fields.reasoning === "string" && fields.text === undefined;
  return type === "file" && fields.mimeType !== undefined && fields.url === undefined;
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
