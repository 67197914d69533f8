import { nameOf } from "@scrollback/collections";

/** The location of a chat. */
export interface ChatLocation {
  readonly owner: string;
  readonly chatId: string;
  readonly threadId: string;
  /** The thread of the owner's directory. */
  readonly directory: string;
}

/** The threads of chats. Escaped names contain no colon, so no two names give the same thread. */
export const threads = {
  chat: (owner: string, chatId: string) => `chats:chat:${nameOf(owner)}:${nameOf(chatId)}`,
  directory: (owner: string) => `chats:directory:${nameOf(owner)}`,
  leaf: (id: string) => `chats:leaf:${id}`,
};

export function locationOf(owner: string, chatId: string): ChatLocation {
  return { owner, chatId, threadId: threads.chat(owner, chatId), directory: threads.directory(owner) };
}
