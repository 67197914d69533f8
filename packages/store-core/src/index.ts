/** For applications. Authors of adapters import `@scrollback/store-core/driver` too. */
export { type Codec, jsonCodec } from "./codec/codec.ts";
export type { Cursor, Revision } from "./driver/revision.ts";
export { StoreError, type StoreErrorCode } from "./errors.ts";
export type { ThreadInfo } from "./factory/list-threads.ts";
export { type Adapter, createMemoryStores, openStores } from "./factory/open-stores.ts";
export type { StoreFactory, StoreOptions } from "./factory/store-factory.ts";
export type { IndexEntry, StoreIndex } from "./factory/store-index.ts";
export { chatMessageTraits } from "./message/chat-message-traits.ts";
export type { ChatMessage, FilePart, MessageTraits, Part, PartTypes, TextPart } from "./message/message.ts";
export { retryOnConflict } from "./retry.ts";
export type { StoreCall } from "./store/observation.ts";
export type { StoreState } from "./store/state.ts";
export type {
  Change,
  MessageStore,
  ReadOptions,
  ThreadPage,
  WriteOptions,
} from "./store/store.ts";
