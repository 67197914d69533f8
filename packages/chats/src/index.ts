export type { BlobStorage } from "@scrollback/collections";
export type {
  Chat,
  ChatEntry,
  ChatPatch,
  ChatSummary,
  ListChats,
  MessageStatus,
  SiblingGroup,
} from "./chat.ts";
export { ChatStore, type ChatStoreOptions } from "./chat-store.ts";
export type { ChatExport } from "./copy/export-chat.ts";
export { fileReference, filesIn, parseFileReference } from "./files/extract.ts";
export type { OwnedChats } from "./list/owned-chats.ts";
export type { RunChange } from "./run/begin-run.ts";
export type { ChatRun } from "./run/runs.ts";
