import type { StoreFactory } from "@scrollback/store-core";
import type { Identified } from "../chat.ts";
import type { ChatStore, ChatStoreOptions } from "../chat-store.ts";
import type { OwnedChats } from "../owned-chats.ts";

/** What the contract stores: a message with a text. */
export interface ContractMessage extends Identified {
  readonly content: string;
  readonly sentAt?: Date;
}

/** What a test may choose of a chat store. */
export type ContractOptions = Omit<ChatStoreOptions<ContractMessage>, "stores">;

/** Chat stores set up for one test. */
export interface ChatHarness {
  /** A factory on the harness's storage, as another process would have it. Factories are closed by the harness. */
  openStores(): StoreFactory;
  /** Drops what was stored, as far as that is needed. */
  close(): Promise<void>;
}

/** The options of {@link runChatContract}. */
export interface ChatContractOptions {
  /** What the tests are named after, e.g. `"Redis"`. */
  readonly name: string;
  /** Makes a harness on storage that nothing else uses. Called once for each test; should be quick. */
  createHarness(): Promise<ChatHarness>;
}

/** What a test of the contract gets. */
export interface Trial {
  readonly chats: ChatStore<ContractMessage>;
  /** The chats of `owner` in `chats`. */
  readonly mine: OwnedChats<ContractMessage>;
  /** An owner that no other test has. */
  readonly owner: string;
  /** What is stored. */
  readonly stores: StoreFactory;
  /** A chat store as another process would have it. */
  connect(options?: ContractOptions): ChatStore<ContractMessage>;
}

/** One promise as a test. */
export interface ContractTest {
  readonly title: string;
  run(trial: Trial): Promise<void>;
}
