export type { Cut } from "./changes.ts";
export type * from "./chat.ts";
export { ChatStore, type ChatStoreOptions } from "./chat-store.ts";
export type { ChatExport } from "./export-chat.ts";
export type { ForkOptions } from "./fork-chat.ts";
export type { ImportOptions } from "./import-chat.ts";
export type { OwnedChats } from "./owned-chats.ts";
