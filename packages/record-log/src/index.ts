export { amendedExpiry, isBlanked, MemoryRecordLog } from "./memory-log.ts";
export {
  type Amendment,
  FIRST_ROW,
  type LogRow,
  type RecordLog,
  type RecordLogCapabilities,
  type StreamPage,
  type StreamsRequest,
} from "./record-log.ts";
export { RecordLogDriver } from "./record-log-driver.ts";
export { checkStreamCursor, refuseStreamCursor, streamPageOf } from "./stream-cursor.ts";
