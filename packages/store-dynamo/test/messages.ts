import type { ChatMessage } from "@scrollback/store-core";

export const user = (content: string): ChatMessage => ({ role: "user", content });
