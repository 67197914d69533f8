import type { ChatMessage, Cursor, Revision } from "@scrollback/store-core";

/** The required fields of a chat's message. The AI SDK's `UIMessage` has them, and any `ChatMessage` with an id. */
export interface Identified {
  /** Identifies the message in its chat. 1 to 256 bytes. */
  readonly id: string;
  readonly role: ChatMessage["role"];
}

/** `"partial"`: the answer of a run that has not ended. */
export type MessageStatus = "complete" | "partial" | "stopped" | "failed";

/** Values to filter lists by. */
export type Labels = Readonly<Record<string, string | number | boolean>>;

/** The newest message of a chat, in lists. */
export interface LastMessage {
  readonly id: string;
  readonly role: ChatMessage["role"];
  /** The first 160 characters of its text. */
  readonly text: string;
  readonly createdAt: number;
}

/** The origin of a fork: the chat, and the last copied message. */
interface ForkedFrom {
  readonly chatId: string;
  /** `null` if no message was copied. */
  readonly messageId: string | null;
}

/** A chat in a list. Plain JSON; times in milliseconds since 1970. */
export interface ChatSummary {
  readonly id: string;
  readonly title?: string;
  /** The origin of the title. `"text"`: the text of a message. */
  readonly titleBy?: TitleBy;
  /** The id of the message that the title was made of. The title is removed when this message is changed or dropped. */
  readonly titleOf?: string;
  readonly createdAt: number;
  /** The time of the last change of the chat. Never decreases. */
  readonly updatedAt: number;
  /** The time of the last message that was added, of the last begin or end of a run, or of `touch`; the order of lists. Never decreases. */
  readonly activeAt: number;
  readonly pinned: boolean;
  readonly archived: boolean;
  /** At most 1 KiB encoded. */
  readonly labels: Labels;
  readonly messageCount: number;
  readonly lastMessage?: LastMessage;
  readonly forkedFrom?: ForkedFrom;
  /** Present while an answer is being generated, and after its process died (`"lost"`). */
  readonly run?: RunSummary;
}

/** An answer that is being generated. */
interface RunSummary {
  readonly id: string;
  /** The id of the answer. */
  readonly messageId: string;
  readonly startedAt: number;
  readonly state: "running" | "lost";
}

type TitleBy = "text" | "model" | "user";

/** Messages that have one place in a chat, of which the path of the chat has one: what was there before an edit or a regeneration. */
export interface SiblingGroup {
  /** The message before them; `null`: they begin the chat. */
  readonly behind: string | null;
  /** The ids of their first messages, oldest first. */
  readonly ids: readonly string[];
  /** The one on the path; absent if the path ends behind {@link SiblingGroup.behind}. */
  readonly active?: string;
}

/** A chat without its messages. */
export interface Chat extends ChatSummary {
  /** The messages of the path that have siblings. Absent if none has; not in lists. */
  readonly siblings?: readonly SiblingGroup[];
  /** At most 64 KiB encoded; not in lists. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Random. A chat that is created under the id of a deleted one has another value. */
  readonly incarnation: string;
  /** For {@link ChatWrite.expectedRevision}. */
  readonly revision: Revision;
}

/** One message of a chat. */
export interface ChatEntry<M> {
  readonly message: M;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly status: MessageStatus;
  /** The reason of a failed answer. */
  readonly error?: string;
  /**
   * The ids of the files whose contents are not in the message, which has texts in their place: see {@link OwnedChats.withFiles}. Absent
   * if the message is whole.
   */
  readonly files?: readonly string[];
}

/** How a call reads messages. */
export interface ReadFiles {
  /** `"contents"` (default): messages are whole. `"references"`: no file that is stored apart is loaded, see {@link ChatEntry.files}. */
  readonly files?: "contents" | "references";
}

/** A page of a chat, at one revision. */
export interface ChatPage<M> {
  readonly chat: Chat;
  /** Oldest first. */
  readonly entries: ChatEntry<M>[];
  /** For `before` of the next call; absent at the beginning of the chat. */
  readonly older?: Cursor;
}

/** One message of a chat, at one revision. */
export interface ChatMessageEntry<M> {
  readonly chat: Chat;
  readonly entry: ChatEntry<M>;
}

/** Options of every write. */
export interface ChatWrite {
  /**
   * Identifies this write. A repeated call with this id changes nothing and returns the current chat; another call with the
   * same id fails with `CONFLICT`. A chat remembers its newest 64 ids.
   */
  readonly operationId?: string;
  /** Write only if the chat has not changed since this revision, else fail with `CONFLICT`. */
  readonly expectedRevision?: Revision;
  readonly signal?: AbortSignal;
}

/** Options of a write that drops messages. */
export interface Dropping extends Placed {
  /** Keeps the dropped messages as a sibling of what takes their place, see {@link OwnedChats.siblings}. Default false. */
  readonly keepSibling?: boolean;
}

/** Options of a write of messages. */
export interface Placed extends ChatWrite {
  /** The id of the expected last message, `null` for none. If another message is the last one: `CONFLICT`. */
  readonly after?: string | null;
}

/** The changes of {@link OwnedChats.update}; omitted fields stay. */
export interface ChatPatch {
  /** 1 to 512 characters; `null` removes it. */
  readonly title?: string | null;
  /** Default `"user"`. Only with a title. */
  readonly titleBy?: TitleBy;
  /**
   * The message that the title was made of, as it was then; only for a title by `"text"` or `"model"`. If the chat has no such
   * message now, or one with other content: `NOT_FOUND`. The title is removed when this message is dropped or its content changes;
   * `metadata` is not content. Without `titleOf` a title stays until it is replaced.
   */
  readonly titleOf?: Identified;
  readonly pinned?: boolean;
  readonly archived?: boolean;
  /** Merged by key; `null` removes one. */
  readonly labels?: Readonly<Record<string, string | number | boolean | null>>;
  /** Merged by key; `null` removes one. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The content of a chat for {@link OwnedChats.create}. */
export interface NewChat<M> extends ChatPatch {
  /** 1 to 1,024 bytes, not "." or "..". Default: a UUID; the same one for each call with the same operation id. */
  readonly id?: string;
  readonly messages?: readonly M[];
  readonly forkedFrom?: ForkedFrom;
}

/** The options of {@link OwnedChats.list}. */
export interface ListChats {
  /** 1 to 1,000. Default 20. */
  readonly limit?: number;
  /** The `cursor` of a previous page. */
  readonly cursor?: string;
  /** True: only archived chats. False: only the others. Default false. */
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
