/** For applications. Authors of adapters import `@scrollback/store-core/driver` too. */
export { aesGcmCodec, type EncryptionKey } from "./codec/aes-gcm-codec.ts";
export { type Codec, jsonCodec } from "./codec/codec.ts";
export { gzipCodec } from "./codec/gzip-codec.ts";
export type { Revision } from "./driver/revision.ts";
export { StoreError, type StoreErrorCode } from "./errors.ts";
export type { ListThreadsOptions, ThreadInfo, ThreadList } from "./factory/list-threads.ts";
export { type Adapter, createMemoryStores, type OpenOptions, openStores } from "./factory/open-stores.ts";
export type { StoreFactory, StoreOptions } from "./factory/store-factory.ts";
export type { IndexEntry, StoreIndex } from "./factory/store-index.ts";
export {
  type ChatMessage,
  chatMessageTraits,
  type FilePart,
  type MessageTraits,
  type Part,
  type PartTypes,
  type Role,
  type TextPart,
  type ToolCallPart,
  type ToolResultPart,
} from "./message/message.ts";
export { retryOnConflict } from "./retry.ts";
export type { StoreCall, StoreRetry } from "./store/observation.ts";
export type { StoreSettings, StoreState } from "./store/state.ts";
export type {
  Change,
  Cursor,
  ExpireOptions,
  MessageStore,
  ReadOptions,
  ThreadPage,
  WriteOptions,
} from "./store/store.ts";
export type { Trimming } from "./trimming/trimming.ts";
