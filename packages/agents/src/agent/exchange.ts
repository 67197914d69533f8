import type { ChatMessage } from "@scrollback/store-core";

/**
 * Splits a history before the exchange that the new input continues: the assistant message whose calls a tool message now
 * answers or approves. Such an exchange must reach the model unchanged.
 */
export function splitOpenExchange(
  history: readonly ChatMessage[],
  input: readonly ChatMessage[],
): { earlier: readonly ChatMessage[]; open: readonly ChatMessage[] } {
  const goesOn = input[0] ? input[0].role === "tool" : history.at(-1)?.role === "tool";
  const start = goesOn ? history.findLastIndex((message) => message.role === "assistant") : -1;
  if (start === -1) return { earlier: history, open: [] };
  return { earlier: history.slice(0, start), open: history.slice(start) };
}

/** Whether every tool call in these messages has its result. */
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
