import type { AgentInputItem, AssistantMessageItem, UserMessageItem } from "@openai/agents-core";
import type { ChatMessage, Part } from "@scrollback/store-core";
import { type Conversion, convertMessages, type MessageLosses } from "@scrollback/store-core/internal";
import { inputPart, reasoningPart, textPart } from "./content-parts.ts";
import { callPart, resultPart } from "./tool-items.ts";

/**
 * Converts items of the OpenAI Agents SDK to Scrollback messages. Reasoning, the text after it and its calls become one assistant
 * message. Consecutive results become one message. Items of hosted tools, computers, shells, patches and compaction are reported
 * as lost.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not an item.
 */
export function fromAgentItems(items: readonly AgentInputItem[]): Conversion<ChatMessage> {
  return convertMessages("fromAgentItems", items, addItem, itemProblem);
}

const roles: readonly unknown[] = ["system", "user", "assistant"];

/** Returns the problem of a value that should be an item, or undefined. Items without a type are messages. */
function itemProblem(item: unknown): string | undefined {
  if (typeof item !== "object" || item === null || Array.isArray(item)) return "must be an item";
  const { type = "message", role, content, callId, name } = item as Record<string, unknown>;
  if (typeof type !== "string") return "type must be a string";
  if (type === "message") {
    if (!roles.includes(role)) return `role must be "system", "user" or "assistant"`;
    const isContent = Array.isArray(content) || (role !== "assistant" && typeof content === "string");
    return isContent ? undefined : "content must be a string or an array";
  }
  if (type === "reasoning") return Array.isArray(content) ? undefined : "content must be an array";
  if (type !== "function_call" && type !== "function_call_result") return undefined;
  if (typeof callId !== "string") return "callId must be a string";
  return typeof name === "string" ? undefined : "name must be a string";
}

/** Converts an item and adds it to `made`. Returns whether anything was added. */
function addItem(made: ChatMessage[], item: AgentInputItem, losses: MessageLosses): boolean {
  switch (item.type) {
    case undefined:
    case "message":
      return addMessage(made, item as UserMessageItem | AssistantMessageItem, losses);
    case "reasoning": {
      const { type: _, content, rawContent, ...unread } = item;
      losses.unread("", unread);
      const partOf = (one: unknown, path: string) => reasoningPart(one, path, losses);
      const parts = [
        ...losses.converted(content, "content", partOf),
        ...losses.converted(rawContent ?? [], "rawContent", partOf),
      ];
      if (rawContent !== undefined) losses.changed("rawContent");
      return parts.length > 0 && pushAnswer(made, parts, ({ type }) => type === "reasoning");
    }
    case "function_call":
      return pushAnswer(made, [callPart(item, losses)], () => true);
    case "function_call_result": {
      const part = resultPart(item, losses);
      const last = made.at(-1);
      if (last?.role === "tool") (last.content as Part[]).push(part);
      else made.push({ role: "tool", content: [part] });
      return true;
    }
    default:
      return false;
  }
}

/** Adds parts to the preceding answer if `goesOn` is true for all its parts, else as a new answer. */
function pushAnswer(made: ChatMessage[], parts: readonly Part[], goesOn: (part: Part) => boolean): boolean {
  const last = made.at(-1);
  const content = last?.role === "assistant" ? (last.content as Part[]) : undefined;
  if (content?.every(goesOn)) content.push(...parts);
  else made.push({ role: "assistant", content: [...parts] });
  return true;
}

function addMessage(
  made: ChatMessage[],
  item: UserMessageItem | AssistantMessageItem,
  losses: MessageLosses,
): boolean {
  const { type: _, id, role, content, ...rest } = item;
  const { status, ...unread } = rest as { status?: unknown };
  losses.unread("", unread);
  if (role !== "assistant") losses.unread("", { status });
  else if (status !== undefined && status !== "completed") losses.changed("status");
  const isNamed = typeof id === "string";
  if (!isNamed) losses.unread("", { id });
  const own = isNamed ? { id } : {};
  if (typeof content === "string") return made.push({ ...own, role, content }) > 0;
  const partOf = role === "assistant" ? textPart : inputPart;
  const parts = losses.converted<unknown, Part>(content, "content", (one, path) => partOf(one, path, losses));
  if (parts.length === 0) return false;
  const last = made.at(-1);
  const isAfterReasoning =
    role === "assistant" &&
    last?.role === "assistant" &&
    (last.content as Part[]).every(({ type }) => type === "reasoning");
  if (!isAfterReasoning) return made.push({ ...own, role, content: parts }) > 0;
  made[made.length - 1] = { ...own, role, content: [...(last.content as Part[]), ...parts] };
  return true;
}
