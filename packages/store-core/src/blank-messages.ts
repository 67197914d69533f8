import type { ChatMessage, Part } from "./message.ts";

/** Stands for a user's message without text and files, so that the roles still alternate. */
const NO_CONTENT = "(a message without text)";

/**
 * Leaves out of a history for a model what providers refuse as empty: texts of only white space, and messages without content. A
 * user's message without content becomes a short note. A text with provider options is kept: they may be a signature.
 */
export function withoutBlanks<M extends ChatMessage>(messages: readonly M[]): M[] {
  return messages.flatMap((message) => {
    const { role, content } = message;
    if (role === "tool") return [message];
    const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const filled = parts.filter((part) => !isBlank(part));
    if (filled.length === parts.length && parts.length > 0) return [message];
    if (filled.length > 0) return [{ ...message, content: filled }];
    return role === "user" ? [{ ...message, content: [{ type: "text", text: NO_CONTENT }] }] : [];
  });
}

function isBlank(part: Part): boolean {
  return part.type === "text" && part.text.trim() === "" && part.providerOptions === undefined;
}
