import type { ChatMessage, Part } from "./message.ts";

/** Stands for a user's message without text and files, so that the roles still alternate. */
const NO_CONTENT = "(a message without text)";

/**
 * Leaves out of a history for a model what providers refuse as empty: blank texts, and messages without other content. A user's
 * message without content becomes a short note. A blank text that has a signature is kept beside other content.
 */
export function withoutBlanks<M extends ChatMessage>(messages: readonly M[]): M[] {
  return messages.flatMap((message) => {
    const { role, content } = message;
    if (role === "tool") return [message];
    const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
    const filled = parts.filter(
      (part) => part.type !== "text" || !isBlankText(part.text, part.providerOptions),
    );
    const isEmpty = filled.every((part) => part.type === "text" && isBlankText(part.text));
    if (isEmpty)
      return role === "user" ? [{ ...message, content: [{ type: "text", text: NO_CONTENT }] }] : [];
    return [filled.length === parts.length ? message : { ...message, content: filled }];
  });
}

/**
 * Whether a text of a history for a model is left out: it has only white space, and no signature of Google's models, which put it
 * beside an empty text. The id of an item, or other metadata, needs no text.
 *
 * @param metadata by provider.
 */
function isBlankText(text: string, metadata?: Readonly<Record<string, unknown>>): boolean {
  if (text.trim() !== "") return false;
  return !Object.values(metadata ?? {}).some((fields) => Object(fields).thoughtSignature !== undefined);
}
