/** One message of a chat, as every contestant keeps it. */
export interface ChatText {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
}

/** What is stored of one turn. */
export interface StoredTurn {
  readonly question: ChatText;
  /** The answer as it is saved while it is made. */
  readonly drafts: readonly ChatText[];
  readonly answer: ChatText;
}

/** One way to keep messages that several tabs add to one chat. */
export interface TabContestant {
  /** Makes an empty chat. */
  create(chatId: string): Promise<unknown>;
  append(chatId: string, message: ChatText): Promise<unknown>;
  /** All messages of a chat, oldest first. */
  read(chatId: string): Promise<ChatText[]>;
  close(): Promise<unknown>;
}

/** One way to keep the chats of owners, with a list of them. */
export interface ChatContestant extends TabContestant {
  /** Makes chats of one message each. Those that are named later are newer. */
  fill(owner: string, chatIds: readonly string[]): Promise<void>;
  /** Stores the question, then each draft, then the answer: one write each. */
  storeTurn(owner: string, chatId: string, turn: StoredTurn): Promise<unknown>;
  /** The ids of the newest chats, the newest first. */
  list(owner: string, limit: number): Promise<string[]>;
  /** Returns when no work is left in the background. */
  flush?(): Promise<void>;
}

/** The owner of chats that tabs share. */
export const TABS_OWNER = "tabs";
