import { type ChatMessage, chatMessageTraits, type Part, StoreError } from "@scrollback/store-core";
import { invalid } from "@scrollback/store-core/driver";

/** @throws StoreError `INVALID_ARGUMENT` that names the invalid message, as `name[index]`. */
export function checkMessages(name: string, messages: unknown): asserts messages is ChatMessage[] {
  if (!Array.isArray(messages)) invalid(`${name} must be an array of messages`);
  messages.forEach((message, index) => {
    const problem = chatMessageTraits.check?.(message);
    if (problem) invalid(`${name}[${index}]: ${problem}`);
  });
}

/** Checks messages from a store. @throws StoreError `INVALID_STATE` that names the invalid message. */
export function checkStored(messages: readonly unknown[]): asserts messages is ChatMessage[] {
  messages.forEach((message, index) => {
    const problem = chatMessageTraits.check?.(message);
    if (problem) throw new StoreError("INVALID_STATE", `store: message ${index} ${problem}`);
  });
}

/** The input of a run: a user's text, one message, or several. */
export type AgentInput = string | ChatMessage | readonly ChatMessage[];

/** @throws StoreError `INVALID_ARGUMENT` that names the invalid message. */
export function messagesOf(input: AgentInput): readonly ChatMessage[] {
  const messages: readonly ChatMessage[] =
    typeof input === "string"
      ? [{ role: "user", content: input }]
      : Array.isArray(input)
        ? [...input]
        : [input as ChatMessage];
  checkMessages("input", messages);
  return messages;
}

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
