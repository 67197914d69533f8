import type { StoreFactory } from "@scrollback/store-core";
import type { Identified } from "../../src/chat.ts";
import type { ChatStore, ChatStoreOptions } from "../../src/chat-store.ts";
import type { OwnedChats } from "../../src/list/owned-chats.ts";

/** The messages that the contract stores: a message with a text. */
export interface ContractMessage extends Identified {
  readonly content: string;
  readonly sentAt?: Date;
}

/** The chat store's options that a test may set. */
export type ContractOptions = Omit<ChatStoreOptions<ContractMessage>, "stores">;

/** Chat stores set up for one test. */
export interface ChatHarness {
  /** Returns a factory on the harness's storage, as in another process. The harness closes the factories. */
  openStores(): StoreFactory;
  /** Deletes the stored data if needed. */
  close(): Promise<void>;
}

/** The options of {@link runChatContract}. */
export interface ChatContractOptions {
  /** The name in the test titles, for example `"Redis"`. */
  readonly name: string;
  /** Creates a harness on unused storage. Called once per test; should be fast. */
  createHarness(): Promise<ChatHarness>;
}

/** The context of a contract test. */
export interface Trial {
  readonly chats: ChatStore<ContractMessage>;
  /** The chats of `owner` in `chats`. */
  readonly mine: OwnedChats<ContractMessage>;
  /** An owner that no other test uses. */
  readonly owner: string;
  /** The stores of the chats. */
  readonly stores: StoreFactory;
  /** Returns a chat store on the same storage, as in another process. */
  connect(options?: ContractOptions): ChatStore<ContractMessage>;
}

/** One promise as a test. */
export interface ContractTest {
  readonly title: string;
  run(trial: Trial): Promise<void>;
}
