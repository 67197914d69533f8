import type { ChatMessage } from "@scrollback/store-core";
import { checkMessages } from "../thread/check-messages.ts";

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
