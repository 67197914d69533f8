import type { Cursor, Revision, Role } from "@scrollback/store-core";

/** What a chat's message must have. The AI SDK's `UIMessage` has it; so has any `ChatMessage` with an id. */
export interface Identified {
  /** Names the message in its chat. 1 to 256 bytes. */
  readonly id: string;
  readonly role: Role;
}

/** `"partial"`: the answer of a run that has not ended. */
export type MessageStatus = "complete" | "partial" | "stopped" | "failed";

/** Values to filter lists by. */
export type Labels = Readonly<Record<string, string | number | boolean>>;

/** The newest message of a chat, as lists show it. */
export interface LastMessage {
  readonly id: string;
  readonly role: Role;
  /** The first 160 characters of its text. */
  readonly text: string;
  readonly createdAt: number;
}

/** The chat, and its last message, that a fork was made of. */
export interface ForkedFrom {
  readonly chatId: string;
  /** `null` where no message was copied. */
  readonly messageId: string | null;
}

/** What a list returns of a chat. Plain JSON; times in milliseconds since 1970. */
export interface ChatSummary {
  readonly id: string;
  readonly title?: string;
  /** Who gave the title: `"text"` stands for the text of a message. */
  readonly titleBy?: TitleBy;
  readonly createdAt: number;
  /** When anything of the chat was changed last. Never falls. */
  readonly updatedAt: number;
  /** When the last message, or `touch`, was written; the order of lists. Never falls. */
  readonly activeAt: number;
  readonly pinned: boolean;
  readonly archived: boolean;
  /** At most 1 KiB encoded. */
  readonly labels: Labels;
  readonly messageCount: number;
  readonly lastMessage?: LastMessage;
  readonly forkedFrom?: ForkedFrom;
  /** There while an answer is being made, or was when its process died (`"lost"`). */
  readonly run?: RunSummary;
}

/** An answer that is being made. */
export interface RunSummary {
  readonly id: string;
  /** The id of the answer. */
  readonly messageId: string;
  readonly startedAt: number;
  readonly state: "running" | "lost";
}

export type TitleBy = "text" | "model" | "user";

/** A chat without its messages. */
export interface Chat extends ChatSummary {
  /** At most 64 KiB encoded; not in lists. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** For {@link ChatWrite.expectedRevision}. */
  readonly revision: Revision;
}

/** One message of a chat. */
export interface ChatEntry<M> {
  readonly message: M;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly status: MessageStatus;
  /** Why an answer failed. */
  readonly error?: string;
}

/** A page of a chat, at one revision. */
export interface ChatPage<M> {
  readonly chat: Chat;
  /** Oldest first. */
  readonly entries: ChatEntry<M>[];
  /** For `before` of the next call; absent where the chat begins. */
  readonly older?: Cursor;
}

/** What every write takes. */
export interface ChatWrite {
  /**
   * Names this write. The same call again changes nothing and returns the chat as it is now; another call under it is
   * `CONFLICT`. The newest 64 of a chat are remembered.
   */
  readonly operationId?: string;
  /** Write only if nothing of the chat has changed since, else `CONFLICT`. */
  readonly expectedRevision?: Revision;
  readonly signal?: AbortSignal;
}

/** What a write of messages takes. */
export interface Placed extends ChatWrite {
  /** The id of the message that the caller takes for the last one, `null` for none. Else `CONFLICT`. */
  readonly after?: string | null;
}

/** What {@link OwnedChats.update} changes; what is left out stays. */
export interface ChatPatch {
  /** 1 to 512 characters; `null` removes it. */
  readonly title?: string | null;
  /** Default `"user"`. Only with a title. */
  readonly titleBy?: TitleBy;
  readonly pinned?: boolean;
  readonly archived?: boolean;
  /** Merged by key; `null` removes one. */
  readonly labels?: Readonly<Record<string, string | number | boolean | null>>;
  /** Merged by key; `null` removes one. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** What {@link OwnedChats.create} makes a chat of. */
export interface NewChat<M> extends ChatPatch {
  /** 1 to 1,024 bytes. Default: a UUID; with an operation id always the same one. */
  readonly id?: string;
  readonly messages?: readonly M[];
  readonly forkedFrom?: ForkedFrom;
}

/** The options of {@link OwnedChats.list}. */
export interface ListChats {
  /** 1 to 1,000. Default 20. */
  readonly limit?: number;
  /** The `cursor` of the page before, of the same filters. */
  readonly cursor?: string;
  /** Only archived chats, or only others. Default false. */
  readonly archived?: boolean;
  /** Only pinned chats, or only others. Default: both. */
  readonly pinned?: boolean;
  /** Only chats that have all of these labels. */
  readonly labels?: Labels;
  readonly signal?: AbortSignal;
}

/** One page of a list. `cursor` is absent on the last page. */
export interface ChatList {
  readonly chats: ChatSummary[];
  readonly cursor?: string;
}
