import type { ChatMessage } from "@scrollback/store-core";

export const user = (content: string): ChatMessage => ({ role: "user", content });

export const users = (count: number, content = "hello"): ChatMessage[] =>
  Array.from({ length: count }, (_, index) => user(`${content} ${index + 1}`));
