import type { ExportedMessageRepository, ExportedMessageRepositoryItem } from "@assistant-ui/core";

// The browser's calls to the server. Only types, so that the browser loads no code of the server.

/** A chat in a list. */
export interface ThreadRow {
  readonly id: string;
  readonly title?: string;
  readonly archived: boolean;
  readonly activeAt: number;
}

/** A message of assistant-ui with the id of its predecessor. Branches are items with the same parent. */
export interface StoredItem {
  readonly id: string;
  readonly role: "system" | "user" | "assistant";
  /** Only the parent of a deleted message stays: its answers now follow that one. */
  readonly item: ExportedMessageRepositoryItem | Pick<ExportedMessageRepositoryItem, "parentId">;
}

/** The calls by name, each with one object as its input. */
export interface ChatCalls {
  list(input: { cursor?: string | undefined }): Promise<{ rows: ThreadRow[]; cursor?: string }>;
  create(input: { id: string }): Promise<ThreadRow>;
  get(input: { id: string }): Promise<ThreadRow>;
  update(input: { id: string; title?: string; archived?: boolean }): Promise<ThreadRow>;
  delete(input: { id: string }): Promise<void>;
  load(input: { id: string }): Promise<ExportedMessageRepository>;
  save(input: { id: string; item: StoredItem }): Promise<void>;
}
