import { type ChatMessage, chatMessageTraits, StoreError } from "@scrollback/store-core";
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
