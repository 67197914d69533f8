import { type ChatMessage, chatMessageTraits, invalid } from "@scrollback/store-core";

/** @throws StoreError `INVALID_ARGUMENT` that names the message at fault, as `name[index]`. */
export function checkMessages(name: string, messages: readonly unknown[]): asserts messages is ChatMessage[] {
  messages.forEach((message, index) => {
    const problem = chatMessageTraits.check?.(message);
    if (problem) invalid(`${name}[${index}]: ${problem}`);
  });
}
