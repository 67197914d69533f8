import { ChatStore, type OwnedChats } from "@scrollback/chats";
import type { StoreFactory } from "@scrollback/store-core";

/** What a person does with the chats of a store. */
export async function withChats<T>(stores: StoreFactory, work: (mine: OwnedChats) => Promise<T>): Promise<T> {
  await using chats = new ChatStore({ stores });
  return await work(chats.of("ada"));
}
