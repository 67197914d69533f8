import type { AgentInputItem } from "@openai/agents-core";
import type { ChatMessage, Part } from "@scrollback/store-core";
import {
  type Conversion,
  convertMessages,
  fileOfPart,
  isContentPart,
  type MessageLosses,
  outputOfPart,
  plainJson,
  textOfToolOutput,
} from "@scrollback/store-core/internal";
import { fileItem, type InputContent } from "./input-files.ts";

/**
 * Converts Scrollback messages to items of the OpenAI Agents SDK. The reasoning, texts, calls and results of a message become
 * separate items. Only an OpenAI id (`msg_…`) is kept: the API refuses others.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message.
 */
export function toAgentItems(messages: readonly ChatMessage[]): Conversion<AgentInputItem> {
  return convertMessages<ChatMessage, AgentInputItem>("toAgentItems", messages, (made, message, losses) => {
    const items = itemsOf(message, losses);
    made.push(...items);
    return items.length > 0;
  });
}

function itemsOf({ role, content, id, ...unread }: ChatMessage, losses: MessageLosses): AgentInputItem[] {
  losses.unread("", unread);
  const items =
    role === "user"
      ? userItems(content, losses)
      : role === "system"
        ? systemItems(content, losses)
        : answerItems(role, content, losses);
  const message = items.findIndex((item) => "role" in item);
  const isOwn = typeof id === "string" && id.startsWith("msg_") && message >= 0;
  if (!isOwn) losses.unread("", { id });
  return isOwn ? items.map((item, index) => (index === message ? { ...item, id } : item)) : items;
}

/** Returns the text of a part, and reports its other fields. */
function textOf(
  { type: _, text, ...unread }: Extract<Part, { type: "text" | "reasoning" }>,
  path: string,
  losses: MessageLosses,
) {
  losses.unread(path, unread);
  return text;
}

function systemItems(content: ChatMessage["content"], losses: MessageLosses): AgentInputItem[] {
  if (typeof content === "string") return [{ type: "message", role: "system", content }];
  const texts = losses.converted(content, "content", (part, path) =>
    part.type === "text" ? textOf(part, path, losses) : undefined,
  );
  if (texts.length > 1) losses.changed("content");
  return texts.length === 0 ? [] : [{ type: "message", role: "system", content: texts.join("\n") }];
}

function userItems(content: ChatMessage["content"], losses: MessageLosses): AgentInputItem[] {
  if (typeof content === "string") return [{ type: "message", role: "user", content }];
  const made = losses.converted(content, "content", (part, path) => inputContent(part, path, losses));
  return made.length === 0 ? [] : [{ type: "message", role: "user", content: made }];
}

function inputContent(part: Part, path: string, losses: MessageLosses): InputContent | undefined {
  if (part.type === "text") return { type: "input_text", text: textOf(part, path, losses) };
  if (part.type !== "file" && part.type !== "image") return undefined;
  const file = fileOfPart(part, path, losses);
  return file && fileItem(file, path, losses);
}

function answerItems(
  role: "assistant" | "tool",
  content: ChatMessage["content"],
  losses: MessageLosses,
): AgentInputItem[] {
  if (typeof content === "string") return role === "tool" ? [] : [answerText(content)];
  const items: AgentInputItem[] = [];
  for (const [index, part] of content.entries()) {
    const path = `content[${index}]`;
    if (!addAnswerPart(items, role, part, path, losses)) losses.dropped(path);
  }
  return items;
}

function addAnswerPart(
  items: AgentInputItem[],
  role: "assistant" | "tool",
  part: Part,
  path: string,
  losses: MessageLosses,
): boolean {
  if (part.type === "tool-result") {
    const item = resultItem(part, path, losses);
    if (item) items.push(item);
    return item !== undefined;
  }
  if (role === "tool") return false;
  const last = items.at(-1);
  switch (part.type) {
    case "text": {
      const text = textOf(part, path, losses);
      if (last && "role" in last && last.role === "assistant")
        last.content.push({ type: "output_text", text });
      else items.push(answerText(text));
      return true;
    }
    case "reasoning": {
      const text = { type: "input_text" as const, text: textOf(part, path, losses) };
      if (last?.type === "reasoning") last.content.push(text);
      else items.push({ type: "reasoning", content: [text] });
      return true;
    }
    case "tool-call": {
      const { type: _, toolCallId, toolName, input, ...unread } = part;
      losses.unread(path, unread);
      const json = plainJson(input);
      if (json.isChanged) losses.changed(`${path}.input`);
      const args = JSON.stringify(json.value);
      items.push({
        type: "function_call",
        callId: toolCallId,
        name: toolName,
        status: "completed",
        arguments: args,
      });
      return true;
    }
    default:
      return false;
  }
}

function answerText(text: string): AgentInputItem {
  return {
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text }],
  };
}

function resultItem(
  part: Extract<Part, { type: "tool-result" }>,
  path: string,
  losses: MessageLosses,
): AgentInputItem {
  const { output, keepsError } = outputOfPart(part, path, losses);
  if (!keepsError) losses.dropped(`${path}.isError`);
  const item = {
    type: "function_call_result",
    callId: part.toolCallId,
    name: part.toolName,
    status: "completed",
  } as const;
  if (output.type === "content") return { ...item, output: resultContent(output.value, path, losses) };
  const { text, isError: isFailed, isChanged } = textOfToolOutput(output);
  // A result of this SDK cannot be marked as an error.
  if (isFailed || isChanged) losses.changed(`${path}.output`);
  return { ...item, output: { type: "text" as const, text } };
}

type ResultContent = Extract<InputContent, { type: "input_text" | "input_image" | "input_file" }>;

function resultContent(value: readonly unknown[], path: string, losses: MessageLosses): ResultContent[] {
  return losses.converted(value, `${path}.output.value`, (one, inner) => {
    const input = isContentPart(one) ? inputContent(one, inner, losses) : undefined;
    return input?.type === "audio" ? undefined : input;
  });
}
