import { randomUUID } from "node:crypto";
import type { ChatMessage, MessageStore, StoreFactory } from "@scrollback/store-core";
import { type ChatReducer, TruncatingReducer } from "../src/index.ts";
import { assistant, idsOf } from "./messages.ts";

export const truncating = new TruncatingReducer({ targetCount: 2 });

/** Merges the older messages into one, so that the test detects each lost message. */
export const merging: ChatReducer = {
  async reduce(messages) {
    if (messages.length <= 3) return [...messages];
    const merged = messages.slice(0, -2).map(({ content }) => content);
    return [assistant(merged.join(" ")), ...messages.slice(-2)];
  },
};
export const textOf = (messages: readonly ChatMessage[]) => messages.map(({ content }) => content).join(" ");

/** A reducer that runs these steps before its first reductions. */
export function meanwhile(reducer: ChatReducer, ...steps: (() => Promise<unknown>)[]) {
  const seen: string[] = [];
  const interrupted: ChatReducer = {
    async reduce(messages, options) {
      seen.push(textOf(messages));
      await steps.shift()?.();
      return await reducer.reduce(messages, options);
    },
  };
  return { interrupted, seen };
}

/** Two stores of one thread, and the ids of its stored messages. */
export interface TestThread {
  readonly store: MessageStore;
  readonly other: MessageStore;
  stored(): Promise<string>;
}

/** A thread that nothing else uses. */
export function newThread(stores: StoreFactory): TestThread {
  const threadId = `thread ${randomUUID()}`;
  const [store, other] = [stores.open(threadId), stores.open(threadId)];
  return { store, other, stored: async () => idsOf(await other.listMessages()) };
}
