export type { Cut } from "./changes.ts";
export type * from "./chat.ts";
export { ChatStore, type ChatStoreOptions } from "./chat-store.ts";
export type { OwnedChats } from "./owned-chats.ts";
