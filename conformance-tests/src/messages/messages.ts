import type { ChatMessage, MessageStore } from "@scrollback/store-core";

export const system = (content: string): ChatMessage => ({ role: "system", content });
export const user = (content: string): ChatMessage => ({ role: "user", content });
export const assistant = (content: string): ChatMessage => ({ role: "assistant", content });

/** An assistant message that calls a tool. */
export const toolCall = (toolCallId: string): ChatMessage => ({
  role: "assistant",
  content: [{ type: "tool-call", toolCallId, toolName: "look", input: { at: toolCallId } }],
});

/** The result for {@link toolCall}; by default in a tool message, for some APIs in a user message. */
export const toolResult = (toolCallId: string, role: "tool" | "user" = "tool"): ChatMessage => ({
  role,
  content: [
    { type: "tool-result", toolCallId, toolName: "look", output: { type: "text", value: toolCallId } },
  ],
});

/** A tool message without a result: a person's response to a tool call that requires approval. */
export const approval = (approvalId: string): ChatMessage => ({
  role: "tool",
  content: [{ type: "tool-approval-response", approvalId, approved: true }],
});

/** An assistant message of reasoning alone: the message after it belongs to it. */
export const reasoning = (text: string): ChatMessage => ({
  role: "assistant",
  content: [{ type: "reasoning", text }],
});

/** An assistant message with the result of a tool that the provider ran, and a call of another tool. */
export const resultAndCall = (toolCallId: string): ChatMessage => ({
  role: "assistant",
  content: [toolResult(toolCallId), toolCall(toolCallId)].flatMap(({ content }) =>
    typeof content === "string" ? [] : content,
  ),
});

/** A message that stands for the messages before it. */
export const summary = (text: string): ChatMessage => ({
  role: "assistant",
  content: text,
  metadata: { type: "scrollback.summary" },
});

/** `count` user messages: `${name} ${from}` and so on. */
export function numbered(count: number, name = "message", from = 1): ChatMessage[] {
  return Array.from({ length: count }, (_, index) => user(`${name} ${from + index}`));
}

/** A message that carries any value. */
export const carrying = (value: unknown): ChatMessage => ({ role: "user", content: "", metadata: value });

/** The content of text messages, for short comparisons. */
export function textsOf(messages: readonly ChatMessage[]): string[] {
  return messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
}

/** The texts of a store's messages. */
export async function textsIn(store: MessageStore, limit?: number): Promise<string[]> {
  return textsOf(await store.listMessages(limit === undefined ? {} : { limit }));
}
