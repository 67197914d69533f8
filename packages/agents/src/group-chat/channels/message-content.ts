import type { ChatMessage, Part } from "@scrollback/store-core";

const toolParts: readonly Part["type"][] = [
  "tool-call",
  "tool-result",
  "tool-approval-request",
  "tool-approval-response",
];

/** Whether a message is about tools: a call, a result, an approval, or the role `tool`. */
export function hasToolContent({ role, content }: ChatMessage): boolean {
  return role === "tool" || (Array.isArray(content) && content.some(({ type }) => toolParts.includes(type)));
}

/** Whether a message has content: text that is not blank, a file, or tool content. */
export function hasContent({ content }: ChatMessage): boolean {
  if (typeof content === "string") return content.trim() !== "";
  return content.some((part) =>
    part.type === "text" || part.type === "reasoning" ? part.text.trim() !== "" : true,
  );
}
