export { amendedExpiry, isBlanked, MemoryRecordLog } from "./memory-log.ts";
export {
  type Amendment,
  checkStreamCursor,
  FIRST_ROW,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  refuseStreamCursor,
  type StreamPage,
  type StreamsRequest,
  streamPageOf,
} from "./record-log.ts";
export { RecordLogDriver } from "./record-log-driver.ts";
