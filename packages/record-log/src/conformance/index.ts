/**
 * Tests and a harness for a record log.
 *
 * @packageDocumentation
 */
export { CountingLog } from "./counting-log.ts";
export type { RecordLogHarness } from "./harness.ts";
export {
  type CountedLog,
  type RecordLogBackend,
  recordLogAccess,
  recordLogHarness,
} from "./record-log-harness.ts";
export { type RecordLogOptions, runRecordLog } from "./run-record-log.ts";
