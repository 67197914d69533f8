/** What the server of the inspector and its page exchange. Texts are printable: control characters are escaped. */

/** A thread in a list. Times are in milliseconds since 1970. */
export interface ThreadRow {
  /** As the store has it: for requests, never for display. */
  readonly threadId: string;
  readonly name: string;
  readonly title?: string;
  /** What the thread is to its layer, such as `chat`. Absent: unknown. */
  readonly kind?: string;
  readonly count?: number;
  readonly updatedAt?: number;
  /** The beginning of the newest message. */
  readonly preview?: string;
  /** Marks, such as `archived`. */
  readonly marks?: readonly string[];
  /** Why the thread cannot be read. */
  readonly problem?: string;
}

/** A page of a list. */
export interface ThreadRows {
  readonly threads: readonly ThreadRow[];
  /** The cursor of the next page; absent on the last one. */
  readonly cursor?: string;
  /** The number of threads or entries that were looked at. */
  readonly scanned: number;
}

/** An owner of chats. */
export interface OwnerRow {
  /** The name in the ids of threads: for requests. */
  readonly owner: string;
  readonly name: string;
}

export interface OwnerRows {
  readonly owners: readonly OwnerRow[];
  readonly cursor?: string;
}

/** A thread that another one refers to. */
export interface ThreadLink {
  readonly threadId: string;
  readonly label: string;
}

/** A thread without its messages. */
export interface ThreadHead extends ThreadRow {
  /** `null`: the thread does not exist. */
  readonly revision: string | null;
  readonly createdAt?: number;
  readonly expiresAt?: number;
  /** The stored size; absent if the backend does not know it. */
  readonly bytes?: number;
  readonly metadata?: CutText;
  /** Siblings of messages, and the checkpoints of a LangGraph thread. */
  readonly links: readonly ThreadLink[];
  readonly problems: readonly string[];
}

/** The beginning of a text. */
export interface CutText {
  readonly text: string;
  /** The length of the whole text in characters, if this is less. */
  readonly cutFrom?: number;
}

/** A file of a message. */
export interface FileRow {
  readonly mediaType: string;
  readonly name: string;
  /** Whether the server has the content. */
  readonly isServed: boolean;
  readonly isImage: boolean;
}

/** One part of a message. */
export interface Block {
  readonly kind: "text" | "reasoning" | "call" | "result" | "file" | "data" | "fields";
  readonly label?: string;
  readonly isError?: boolean;
  readonly body?: CutText;
  readonly file?: FileRow;
  readonly fields?: readonly (readonly [name: string, value: string])[];
}

/** A message, or a record that cannot be read. */
export interface MessageRow {
  readonly sequence: number;
  readonly problem?: string;
  readonly createdAt?: number;
  readonly role?: string;
  /** The size in bytes, encoded by the default codec. */
  readonly size?: number;
  /** The id, the author, the status. */
  readonly marks?: readonly string[];
  /** Siblings of the message. */
  readonly links?: readonly ThreadLink[];
  readonly blocks?: readonly Block[];
}

/** A page of a thread, oldest first. */
export interface MessageRows {
  readonly revision: string | null;
  readonly count: number;
  readonly messages: readonly MessageRow[];
  readonly older?: string;
  readonly newer?: string;
  /** Problems of records whose place is unknown. */
  readonly problems: readonly string[];
}

export interface Verification {
  readonly outcome: string;
  readonly messages?: number;
  readonly problems: readonly string[];
}
