/** One message of a chat, the same for every contestant. */
export interface ChatText {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** The stored part of one turn. */
export interface StoredTurn {
  readonly question: ChatText;
  /** The answer as it is saved while it is generated. */
  readonly drafts: readonly ChatText[];
  readonly answer: ChatText;
}

/** One way to store messages that several tabs add to one chat. */
export interface TabContestant {
  /** Makes an empty chat. */
  create(chatId: string): Promise<unknown>;
  append(chatId: string, message: ChatText): Promise<unknown>;
  /** All messages of a chat, oldest first. */
  read(chatId: string): Promise<ChatText[]>;
  close(): Promise<unknown>;
}

/** One way to store the chats of owners, with a list of them. */
export interface ChatContestant extends TabContestant {
  /** Makes chats of one message each. Later ids are newer chats. */
  fill(owner: string, chatIds: readonly string[]): Promise<void>;
  /** Stores the question, then each draft, then the answer, with one write each. */
  storeTurn(owner: string, chatId: string, turn: StoredTurn): Promise<unknown>;
  /** The ids of the newest chats, newest first. */
  list(owner: string, limit: number): Promise<string[]>;
  /** Returns when no background work is left. */
  flush?(): Promise<void>;
}

/** The owner of the chats that tabs share. */
export const TABS_OWNER = "tabs";
