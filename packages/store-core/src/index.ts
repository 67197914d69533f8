export { type AesGcmCodecOptions, aesGcmCodec, type EncryptionKey } from "./aes-gcm-codec.ts";
export {
  type Check,
  checkOptions,
  hasMethods,
  invalid,
  isBoolean,
  isCount,
  isFunction,
  isId,
  isObject,
  isOneOf,
  isPositiveInteger,
  isSignal,
  isString,
  isTimerMs,
  LONGEST_TTL_MS,
} from "./arguments.ts";
export { isBlankText } from "./blank-messages.ts";
export { CALLBACK_MS, type CallbackHandling, callNow, callWithin, reporter, resultNow } from "./callbacks.ts";
export { type Clock, systemClock } from "./clock.ts";
export { type Codec, jsonCodec } from "./codec.ts";
export {
  type Conversion,
  checkMessages,
  convertMessages,
  type Lost,
  MessageLosses,
} from "./conversion.ts";
export { parseJson, plainJson } from "./conversion-json.ts";
export { isUnfinishedCopy } from "./copy-thread.ts";
export { formatCursor } from "./cursor.ts";
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
} from "./driver.ts";
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
} from "./entry-index.ts";
export { closedError, StoreError, type StoreErrorCode, type StoreErrorOptions } from "./errors.ts";
export { checkFactoryOptions, createStores, storeOptionChecks } from "./factory.ts";
export {
  type FileSource,
  fileContent,
  fileOfPart,
  fileSource,
  type PartFile,
  parseDataUrl,
  urlOfFile,
} from "./file-source.ts";
export { type GzipCodecOptions, gzipCodec } from "./gzip-codec.ts";
export {
  chatHistoryTraits,
  type HistoryTraits,
  keepsReasoning,
  type PairedHistory,
  pairedHistory,
  type ReasoningPlace,
  type ReportTarget,
  reportOnce,
  reportUnpaired,
  type UnpairedTool,
} from "./history.ts";
export { formatIdCursor, parseIdCursor } from "./id-cursor.ts";
export type { ListThreadsOptions, ThreadInfo, ThreadList } from "./list-threads.ts";
export { createMemoryStores } from "./memory.ts";
export { MemoryDriver } from "./memory-driver.ts";
export { MemoryIndex } from "./memory-index.ts";
export * from "./message.ts";
export { withMissing } from "./missing-messages.ts";
export { modelHistory } from "./model-history.ts";
export * from "./network/index.ts";
export type { StoreCall, StoreRetry } from "./observation.ts";
export { type Adapter, type OpenOptions, openStores } from "./open-stores.ts";
export { formatMetadataRecord, formatRecord, isRecordTime, kindOfRecord, timeOfRecord } from "./record.ts";
export type { RecordKind, RecordLocation, RecordWrite } from "./record-location.ts";
export { decodeHead, type Head } from "./record-log/format.ts";
export { amendedExpiry, isBlanked, MemoryRecordLog } from "./record-log/memory-log.ts";
export {
  type Amendment,
  FIRST_ROW,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
} from "./record-log/record-log.ts";
export { RecordLogDriver, type RecordLogDriverOptions } from "./record-log/record-log-driver.ts";
export { type ConflictRetries, pause, retryOnConflict, untilAborted } from "./retry.ts";
export { emitWarning, unrefTimer } from "./runtime.ts";
export type { StoreSettings, StoreState, ThreadSnapshot } from "./state.ts";
export type {
  Change,
  Cursor,
  ExpireOptions,
  MessageStore,
  ReadOptions,
  Revision,
  ThreadPage,
  WriteOptions,
} from "./store.ts";
export type {
  CopyThreadOptions,
  DeleteThreadOptions,
  StoreFactory,
  StoreOptions,
  ThreadCopy,
  TraitsOption,
} from "./store-factory.ts";
export type {
  EntryContent,
  EntryKey,
  EntryList,
  IndexEntry,
  IndexList,
  ListEntriesOptions,
  ListIndexesOptions,
  StoreIndex,
} from "./store-index.ts";
export { storedCopy } from "./stored-copy.ts";
export { checkStreamCursor, refuseStreamCursor, streamPageOf } from "./stream-cursor.ts";
export { type ReadPosition, ThreadReader, type ThreadReaderOptions } from "./thread-reader.ts";
export { isContentPart, outputOfPart, type ToolOutput, textOfToolOutput, toolOutput } from "./tool-output.ts";
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
  trim,
} from "./trimming.ts";
export { type ConnectionFailure, hostAndPort, unreachable } from "./unreachable.ts";
