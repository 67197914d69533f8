import type { ChatMessage, Part, ThreadPage } from "@scrollback/store-core";
import { isChatMessage } from "../context/open-backend.ts";
import { shownTime } from "../output/figures.ts";
import type { Output } from "../output/output.ts";
import { printableLine, printableText, printableValue } from "../output/terminal-text.ts";

const colours = { system: "magenta", user: "cyan", assistant: "green", tool: "yellow" } as const;

/** A message for a reader: the author and the time on a separate line, then the text. */
export function transcriptOf(entry: ThreadPage<unknown>["entries"][number], output: Output): string {
  const { sequence, createdAt, message } = entry;
  const isChat = isChatMessage(message);
  const role = isChat ? message.role : "assistant";
  const author = isChat ? `${role}${message.authorName ? ` (${message.authorName})` : ""}` : "message";
  const heading = `${output.style(colours[role], printableLine(author))} ${output.style("dim", `#${sequence} ${shownTime(createdAt)}`)}`;
  return `${heading}\n${indented(isChat ? contentOf(message) : [printableValue(message)])}`;
}

function contentOf({ content, metadata }: ChatMessage): string[] {
  // Layers, such as chats and sessions, store their values as the metadata of empty messages.
  if (content === "" && metadata !== undefined) return [printableValue(metadata)];
  return typeof content === "string" ? [content] : content.map(shownPart);
}

function shownPart(part: Part): string {
  switch (part.type) {
    case "text":
      return part.text;
    case "reasoning":
      return `[reasoning] ${part.text}`;
    case "tool-call":
      return `[calls ${part.toolName}] ${printableValue(part.input)} (${part.toolCallId})`;
    case "tool-result":
      return `[result of ${part.toolName}${part.isError ? ", an error" : ""}] ${printableValue(part.output)} (${part.toolCallId})`;
    case "file":
      return `[file ${part.filename ?? ""} ${part.mediaType}]`.replace("  ", " ");
    case "image":
      return "[image]";
    default:
      return `[${part.type}]`;
  }
}

function indented(parts: readonly string[]): string {
  return printableText(parts.join("\n")).replace(/^/gm, "  ");
}
