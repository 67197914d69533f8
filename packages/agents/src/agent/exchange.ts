import type { ChatMessage } from "@scrollback/store-core";

/**
 * Cuts a history in front of the exchange that the new input goes on with: the assistant's message whose calls a tool's
 * message now answers or approves. Such an exchange must reach the model whole and in one piece.
 */
export function splitOpenExchange(
  history: readonly ChatMessage[],
  input: readonly ChatMessage[],
): { settled: readonly ChatMessage[]; open: readonly ChatMessage[] } {
  const goesOn = input[0] ? input[0].role === "tool" : history.at(-1)?.role === "tool";
  const start = goesOn ? history.findLastIndex((message) => message.role === "assistant") : -1;
  if (start === -1) return { settled: history, open: [] };
  return { settled: history.slice(0, start), open: history.slice(start) };
}

/** Whether each tool call in these messages has its result. */
export function isWhole(messages: readonly ChatMessage[]): boolean {
  const open = new Set<string>();
  for (const { content } of messages) {
    if (typeof content === "string") continue;
    for (const part of content) {
      if (part.type === "tool-call") open.add(part.toolCallId);
      if (part.type === "tool-result") open.delete(part.toolCallId);
    }
  }
  return open.size === 0;
}
