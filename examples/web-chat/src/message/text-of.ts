import type { ChatMessage } from "../api.ts";

/** The text of a message, without its tool calls. */
export const textOf = ({ parts }: ChatMessage): string =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");
