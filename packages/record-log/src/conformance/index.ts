/**
 * Tests and a harness for a record log.
 *
 * @packageDocumentation
 */
export { recordLogHarness } from "./record-log-harness.ts";
export { runRecordLog } from "./run-record-log.ts";
