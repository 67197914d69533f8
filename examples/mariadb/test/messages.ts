import type { ChatMessage } from "@scrollback/store-core";

export const user = (content: string): ChatMessage => ({ role: "user", content });

/** `count` messages of users: "1", "2", … */
export const users = (count: number): ChatMessage[] =>
  Array.from({ length: count }, (_, index) => user(String(index + 1)));
