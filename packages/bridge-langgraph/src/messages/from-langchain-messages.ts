import { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { ChatMessage, Part } from "@scrollback/store-core";
import { type Conversion, convertMessages, type MessageLosses } from "@scrollback/store-core/internal";
import { filePart } from "./file-blocks.ts";

/**
 * Converts LangChain messages to Scrollback messages. Messages of LangChain's types `function` and `remove`, and messages with a
 * role that chats do not have, are reported as lost.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a LangChain message.
 */
export function fromLangChainMessages(messages: readonly BaseMessage[]): Conversion<ChatMessage> {
  const toolNames = new Map<string, string>();
  const add = (made: ChatMessage[], message: BaseMessage, losses: MessageLosses) => {
    const chat = chatMessage(message, toolNames, losses);
    if (chat) made.push(chat);
    return chat !== undefined;
  };
  return convertMessages("fromLangChainMessages", messages, add, messageProblem);
}

function messageProblem(message: unknown): string | undefined {
  if (!BaseMessage.isInstance(message)) return "must be a message of LangChain";
  const { content } = message;
  if (typeof content !== "string" && !Array.isArray(content)) return "content must be a string or an array";
  if (!ToolMessage.isInstance(message)) return undefined;
  return typeof message.tool_call_id === "string" ? undefined : "tool_call_id must be a string";
}

const rolesOfTypes: Readonly<Record<string, ChatMessage["role"]>> = {
  ...{ human: "user", user: "user", ai: "assistant", assistant: "assistant" },
  ...{ system: "system", developer: "system" },
};

function chatMessage(
  message: BaseMessage,
  toolNames: Map<string, string>,
  losses: MessageLosses,
): ChatMessage | undefined {
  const kind = message.type === "generic" ? String((message as { role?: unknown }).role) : message.type;
  const role = Object.hasOwn(rolesOfTypes, kind) ? rolesOfTypes[kind] : undefined;
  const isTool = ToolMessage.isInstance(message);
  if (role === undefined && !isTool) return undefined;
  if (message.type === "generic" || message.type === "developer") losses.changed("type");
  const { output_version: _, ...metadata } = message.response_metadata as Record<string, unknown>;
  losses.unread("response_metadata", metadata);
  losses.unread("additional_kwargs", message.additional_kwargs);
  const { id, name } = message;
  const own = id === undefined ? {} : { id };
  if (isTool) return { ...own, role: "tool", content: [resultPart(message, toolNames, losses)] };
  const content =
    typeof message.content === "string" ? message.content : blockParts(message, toolNames, losses);
  const calls = AIMessage.isInstance(message) ? callParts(message, content, toolNames, losses) : [];
  const parts = calls.length === 0 ? content : [...textParts(content), ...calls];
  if (parts.length === 0 && message.content.length > 0) return undefined;
  return {
    ...own,
    role: role as ChatMessage["role"],
    content: parts,
    ...(name !== undefined && { authorName: name }),
  };
}

function textParts(content: ChatMessage["content"]): Part[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

/** Returns the calls that the content does not have. Reports other fields of the answer. */
function callParts(
  { tool_calls = [], invalid_tool_calls = [], usage_metadata }: AIMessage,
  content: ChatMessage["content"],
  toolNames: Map<string, string>,
  losses: MessageLosses,
): Part[] {
  losses.unread("", { usage_metadata });
  if (invalid_tool_calls.length > 0) losses.dropped("invalid_tool_calls");
  const inContent = new Set(
    typeof content === "string"
      ? []
      : content.flatMap((part) => (part.type === "tool-call" ? [part.toolCallId] : [])),
  );
  const parts = losses.converted(tool_calls, "tool_calls", (call, path) =>
    call.id !== undefined && inContent.has(call.id)
      ? "known"
      : callPart({ ...call, type: "tool_call" }, path, toolNames, losses),
  );
  return parts.filter((part) => part !== "known");
}

function blockParts(message: BaseMessage, toolNames: Map<string, string>, losses: MessageLosses): Part[] {
  return losses.converted(message.content as unknown[], "content", (block, path) =>
    blockPart(Object(block), path, toolNames, losses, message.type),
  );
}

function blockPart(
  block: Readonly<Record<string, unknown>>,
  path: string,
  toolNames: Map<string, string>,
  losses: MessageLosses,
  role: BaseMessage["type"],
): Part | undefined {
  const { type, text, ...unread } = block;
  if (type === "text" && typeof text === "string") {
    losses.unread(path, unread);
    return { type, text };
  }
  if (role === "system") return undefined;
  if (role !== "ai") return filePart(block, path, losses);
  switch (type) {
    case "reasoning":
    case "thinking": {
      const { reasoning, thinking, ...other } = unread;
      const value = type === "reasoning" ? reasoning : thinking;
      if (typeof value !== "string") return undefined;
      if (type === "thinking") losses.changed(path);
      losses.unread(path, { ...other, text, ...(type === "reasoning" ? { thinking } : { reasoning }) });
      return { type: "reasoning", text: value };
    }
    case "tool_call":
    case "tool_use":
    case "server_tool_call":
      return callPart(block, path, toolNames, losses);
    case "server_tool_call_result":
      return serverResultPart(block, path, toolNames, losses);
    default:
      return filePart(block, path, losses);
  }
}

function callPart(
  { type, id, name, args, input, ...unread }: Readonly<Record<string, unknown>>,
  path: string,
  toolNames: Map<string, string>,
  losses: MessageLosses,
): Part | undefined {
  if (typeof id !== "string" || typeof name !== "string") return undefined;
  toolNames.set(id, name);
  losses.unread(path, { ...unread, ...(type === "tool_use" ? { args } : { input }) });
  if (type === "tool_use") losses.changed(path);
  return {
    type: "tool-call",
    toolCallId: id,
    toolName: name,
    input: type === "tool_use" ? input : args,
    ...(type === "server_tool_call" && { providerExecuted: true }),
  };
}

function serverResultPart(
  { type: _, toolCallId, status, output, ...unread }: Readonly<Record<string, unknown>>,
  path: string,
  toolNames: ReadonlyMap<string, string>,
  losses: MessageLosses,
): Part | undefined {
  if (typeof toolCallId !== "string") return undefined;
  losses.unread(path, unread);
  const type = `${status === "error" ? "error-" : ""}${typeof output === "string" ? "text" : "json"}`;
  const toolName = toolNames.get(toolCallId) ?? "";
  return { type: "tool-result", toolCallId, toolName, output: { type, value: output } };
}

/** Converts a tool message. If it has no tool name, the name of the call is used. */
function resultPart(
  message: ToolMessage,
  toolNames: ReadonlyMap<string, string>,
  losses: MessageLosses,
): Part {
  const { tool_call_id: toolCallId, name, status, artifact, metadata, content } = message;
  losses.unread("", { artifact, metadata });
  const result = {
    type: "tool-result" as const,
    toolCallId,
    toolName: name ?? toolNames.get(toolCallId) ?? "",
  };
  const prefix = status === "error" ? "error-" : "";
  if (typeof content === "string") return { ...result, output: { type: `${prefix}text`, value: content } };
  const value = blockParts(message, new Map(), losses);
  return { ...result, output: { type: "content", value }, ...(status === "error" && { isError: true }) };
}
