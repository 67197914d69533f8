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
export type { MessageRecord } from "./codec/record.ts";
export {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  type DriverCapabilities,
  type DriverTarget,
  type ErrorClassification,
  type ListRequest,
  MAX_VALUE_BYTES,
  NO_THREAD,
  REMEMBERED_MS,
  REMEMBERED_OPERATIONS,
  REQUEST_TIMEOUT_MS,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "./driver/driver.ts";
export {
  type EntriesRequest,
  type EntryIndex,
  EntryPage,
  EntryPlace,
  type EntryPut,
  type IndexesRequest,
  IndexListing,
  SortKey,
  type StoredEntry,
} from "./driver/entry-index.ts";
export { IdCursor } from "./driver/id-cursor.ts";
export { errorTable } from "./driver/network/errors.ts";
export {
  clientFrom,
  isUrl,
  type UsedClient,
} from "./driver/network/options.ts";
export { PendingCalls } from "./driver/network/pending-calls.ts";
export {
  type ConnectionPool,
  ignoreErrors,
  PooledCalls,
} from "./driver/network/pooled-calls.ts";
export { formatRevision } from "./driver/revision.ts";
export { hostAndPort } from "./driver/unreachable.ts";
export { checkFactoryOptions, createStores } from "./factory/factory.ts";
export type { TraitsOption } from "./factory/store-factory.ts";
export { MemoryDriver } from "./memory/memory-driver.ts";
export { SequenceBounds } from "./trimming/bounds.ts";
export { planCommit, type TrimSearch } from "./trimming/trimming.ts";
