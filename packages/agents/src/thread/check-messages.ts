import { type ChatMessage, chatMessageTraits, invalid, StoreError } from "@scrollback/store-core";

/** @throws StoreError `INVALID_ARGUMENT` that names the message at fault, as `name[index]`. */
export function checkMessages(name: string, messages: readonly unknown[]): asserts messages is ChatMessage[] {
  messages.forEach((message, index) => {
    const problem = chatMessageTraits.check?.(message);
    if (problem) invalid(`${name}[${index}]: ${problem}`);
  });
}

/** Checks what a store gave. @throws StoreError `INVALID_STATE` that says which of its messages is none. */
export function checkStored(messages: readonly unknown[]): asserts messages is ChatMessage[] {
  messages.forEach((message, index) => {
    const problem = chatMessageTraits.check?.(message);
    if (problem)
      throw new StoreError("INVALID_STATE", `store: message ${index} is not a message: ${problem}`);
  });
}
