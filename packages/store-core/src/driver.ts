/**
 * For authors of adapters, of stores around stores, of bridges, and of their tests.
 *
 * @packageDocumentation
 */
export {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isId,
  isObject,
  isOneOf,
  isString,
} from "./arguments.ts";
export { type Clock, systemClock } from "./clock.ts";
export { formatMetadataRecord, formatRecord, kindOfRecord } from "./codec/record.ts";
export type { RecordKind, RecordLocation, RecordWrite } from "./codec/record-location.ts";
export {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClassification,
  expiryAfter,
  formatRevision,
  type ListedThread,
  type ListRequest,
  MAX_VALUE_BYTES,
  NO_THREAD,
  parseRevision,
  REMEMBERED_MS,
  REMEMBERED_OPERATIONS,
  type ReadRequest,
  type ThreadListing,
  type ThreadTimes,
  type ThreadView,
  type UnreadableThread,
} from "./driver/driver.ts";
export {
  aliveEntries,
  type EntriesRequest,
  type EntryFields,
  type EntryIndex,
  type EntryPage,
  type EntryPlace,
  type EntryPut,
  entryPageOf,
  type IndexesRequest,
  type IndexListing,
  indexListingOf,
  keyDigest,
  keyOf,
  nameOfCursor,
  orderOf,
  placeDigest,
  SORT_KEY_ENDS,
  type StoredEntry,
  sortKey,
} from "./driver/entry-index.ts";
export { formatIdCursor, parseIdCursor } from "./driver/id-cursor.ts";
export { withMissing } from "./driver/missing-messages.ts";
export {
  type ErrorTable,
  errorTable,
  isCertificateError,
  refusal,
} from "./driver/network/errors.ts";
export {
  CONNECT_TIMEOUT_MS,
  clientFrom,
  isUrl,
  REPLY_TIMEOUT_MS,
  type UsedClient,
} from "./driver/network/options.ts";
export { disconnectInTime, PendingCalls } from "./driver/network/pending-calls.ts";
export {
  type ConnectionPool,
  type ConnectionVerdict,
  ignoreErrors,
  PooledCalls,
} from "./driver/network/pooled-calls.ts";
export { type ConnectionFailure, hostAndPort, unreachable } from "./driver/unreachable.ts";
export { closedError, type StoreErrorOptions } from "./errors.ts";
export { checkFactoryOptions, createStores, storeOptionChecks } from "./factory/factory.ts";
export type { CopyThreadOptions, DeleteThreadOptions, TraitsOption } from "./factory/store-factory.ts";
export type {
  EntryContent,
  EntryKey,
  EntryList,
  IndexList,
  ListEntriesOptions,
  ListIndexesOptions,
} from "./factory/store-index.ts";
export { MemoryDriver } from "./memory/memory-driver.ts";
export { MemoryIndex } from "./memory/memory-index.ts";
export {
  type CustomPart,
  type FileContent,
  type ImagePart,
  kindOf,
  type MessageKind,
  type ReasoningFilePart,
  type ToolApprovalRequestPart,
  type ToolApprovalResponsePart,
} from "./message/message.ts";
export type { ThreadSnapshot } from "./store/state.ts";
export {
  type CommitPlan,
  countOf,
  EMPTY_BOUNDS,
  firstOf,
  isWithin,
  lastOf,
  NOT_SEARCHED,
  pinnedOf,
  planCommit,
  type Range,
  rangesOutside,
  type SequenceBounds,
  selectRange,
  type Trimming,
  type TrimSearch,
} from "./trimming/trimming.ts";
