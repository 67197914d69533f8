import {
  AIMessage,
  type BaseMessage,
  type ContentBlock,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import type { ChatMessage, Part } from "@scrollback/store-core";
import {
  type Conversion,
  convertMessages,
  isContentPart,
  type MessageLosses,
  outputOfPart,
  textOfToolOutput,
} from "@scrollback/store-core/internal";
import { fileBlock } from "./file-blocks.ts";

/**
 * Converts Scrollback messages to LangChain messages. A single text becomes a string, other content becomes LangChain's standard
 * blocks. Each tool result becomes a message.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a value that is not a message.
 */
export function toLangChainMessages(messages: readonly ChatMessage[]): Conversion<BaseMessage> {
  return convertMessages<ChatMessage, BaseMessage>(
    "toLangChainMessages",
    messages,
    (made, message, losses) => {
      const converted =
        message.role === "tool" ? toolMessages(message, losses) : plainMessage(message, losses);
      made.push(...converted);
      return converted.length > 0;
    },
  );
}

function plainMessage(
  { role, content, id, authorName, ...unread }: ChatMessage,
  losses: MessageLosses,
): BaseMessage[] {
  losses.unread("", unread);
  const own = { ...(id !== undefined && { id }), ...(authorName !== undefined && { name: authorName }) };
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const blocks = losses.converted(parts, "content", (part, path) => blockOf(role, part, path, losses));
  if (blocks.length === 0) return [];
  const fields = { ...contentOf(blocks), ...own };
  if (role === "system") return [new SystemMessage(fields)];
  return [role === "user" ? new HumanMessage(fields) : new AIMessage(fields)];
}

type Content = { readonly content: string } | { readonly contentBlocks: ContentBlock.Standard[] };

/** Returns a single text as a string, which every model accepts. */
function contentOf(blocks: ContentBlock.Standard[]): Content {
  const [first] = blocks;
  return blocks.length === 1 && first?.type === "text"
    ? { content: (first as ContentBlock.Text).text }
    : { contentBlocks: blocks };
}

function blockOf(
  role: ChatMessage["role"],
  part: Part,
  path: string,
  losses: MessageLosses,
): ContentBlock.Standard | undefined {
  if (part.type === "text") {
    const { type, text, ...unread } = part;
    losses.unread(path, unread);
    return { type, text };
  }
  if (role === "system") return undefined;
  if (part.type === "file" || part.type === "image") return fileBlock(part, path, losses);
  return role === "assistant" ? answerBlock(part, path, losses) : undefined;
}

function answerBlock(part: Part, path: string, losses: MessageLosses): ContentBlock.Standard | undefined {
  switch (part.type) {
    case "reasoning": {
      const { type, text, ...unread } = part;
      losses.unread(path, unread);
      return { type, reasoning: text };
    }
    case "tool-call": {
      const { type: _, toolCallId, toolName, input, providerExecuted, ...unread } = part;
      losses.unread(path, unread);
      const call = { id: toolCallId, name: toolName, args: input };
      return providerExecuted === true
        ? { type: "server_tool_call", ...call }
        : { type: "tool_call", ...call };
    }
    case "tool-result": {
      const { output, keepsError } = outputOfPart(part, path, losses);
      if (!keepsError) losses.dropped(`${path}.isError`);
      if (output.type === "execution-denied" || output.type === "content") losses.changed(`${path}.output`);
      const value = output.type === "execution-denied" ? textOfToolOutput(output).text : output.value;
      const isFailed = output.type.startsWith("error-") || output.type === "execution-denied";
      // LangChain reads a string result as text.
      if (output.type.endsWith("json") && typeof value === "string") losses.changed(`${path}.output`);
      return {
        type: "server_tool_call_result",
        toolCallId: part.toolCallId,
        status: isFailed ? "error" : "success",
        output: value as Record<string, unknown>,
      };
    }
    default:
      return undefined;
  }
}

function toolMessages(
  { content, role: _, id, ...unread }: ChatMessage,
  losses: MessageLosses,
): BaseMessage[] {
  losses.unread("", unread);
  if (typeof content === "string") return [];
  const made: BaseMessage[] = [];
  for (const [index, part] of content.entries()) {
    const path = `content[${index}]`;
    if (part.type !== "tool-result") losses.dropped(path);
    else made.push(toolMessage(part, made.length === 0 ? id : undefined, path, losses));
  }
  return made;
}

function toolMessage(
  part: Extract<Part, { type: "tool-result" }>,
  id: string | undefined,
  path: string,
  losses: MessageLosses,
): ToolMessage {
  const { output, keepsError } = outputOfPart(part, path, losses);
  const own = { tool_call_id: part.toolCallId, name: part.toolName, ...(id !== undefined && { id }) };
  if (output.type === "content") {
    const blocks = losses.converted(output.value, `${path}.output.value`, (one, inner) =>
      isContentPart(one) ? blockOf("user", one, inner, losses) : undefined,
    );
    return new ToolMessage({
      ...own,
      contentBlocks: blocks,
      status: part.isError === true ? "error" : "success",
    });
  }
  if (!keepsError) losses.dropped(`${path}.isError`);
  const { text, isError: isFailed, isChanged } = textOfToolOutput(output);
  if (isChanged) losses.changed(`${path}.output`);
  return new ToolMessage({ ...own, content: text, status: isFailed ? "error" : "success" });
}
