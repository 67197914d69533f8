import type { ChatMessage, Part } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import { isChatMessage } from "../context/open-backend.ts";
import { fileOf } from "./openai-chat.ts";

type Fields = Readonly<Record<string, unknown>>;

/**
 * The messages of an entry of a chat, which chats store as the metadata of an empty message; undefined for a value of another layer. Any
 * other message is returned as it is. A UI message of the AI SDK becomes one for each step, followed by the results of its tools.
 */
export function chatMessagesOf(stored: ChatMessage): ChatMessage[] | undefined {
  const { content, metadata } = stored;
  if (content !== "" || metadata === undefined) return [stored];
  const { message } = Object(metadata) as Fields;
  if (isChatMessage(message)) return [message];
  const { role, parts } = Object(message) as Fields;
  if (role !== "system" && role !== "user" && role !== "assistant") return undefined;
  if (!Array.isArray(parts) || parts.some((part) => isObject(part))) return undefined;
  return messagesOfSteps(role, parts);
}

function messagesOfSteps(role: "system" | "user" | "assistant", parts: readonly Fields[]): ChatMessage[] {
  const made: ChatMessage[] = [];
  let content: Part[] = [];
  let results: Part[] = [];
  const endStep = () => {
    if (content.length > 0) made.push({ role, content });
    if (results.length > 0) made.push({ role: "tool", content: results });
    content = [];
    results = [];
  };
  for (const part of parts) {
    const type = String(part.type);
    if (type === "step-start") endStep();
    else if (type === "dynamic-tool" || type.startsWith("tool-")) {
      const [call, result] = toolParts(part, type);
      content.push(call);
      if (result) results.push(result);
    } else if (type === "file" && typeof part.url === "string") {
      const filename = part.filename === undefined ? {} : { filename: String(part.filename) };
      content.push({ ...fileOf(part.url, String(part.mediaType)), ...filename });
    } else content.push(part as unknown as Part);
  }
  endStep();
  return made;
}

function toolParts(part: Fields, type: string): [Part, Part | undefined] {
  const toolCallId = String(part.toolCallId);
  const toolName = type === "dynamic-tool" ? String(part.toolName) : type.slice("tool-".length);
  const { input, state, output, errorText = "denied" } = part;
  const call: Part = { type: "tool-call", toolCallId, toolName, input };
  const result = (value: object): Part => ({ type: "tool-result", toolCallId, toolName, output: value });
  switch (state) {
    case "output-available":
      return [call, result({ type: typeof output === "string" ? "text" : "json", value: output })];
    case "output-error":
    case "output-denied":
      return [call, result({ type: "error-text", value: String(errorText) })];
    default:
      return [call, undefined];
  }
}
