import type { RecordLog } from "../index.ts";

/** What the tests of a record log need from a backend. */
export interface RecordLogHarness {
  /** Returns a log with its own connections. All logs share the same rows, which nothing else uses. The suite closes the log. */
  connect(): RecordLog;
  /** Deletes the rows of a stream whose `expiresAt` has passed, as the backend does at some time. */
  sweep(stream: string): Promise<void>;
  /** The number of requests that its logs have sent so far, including repetitions. */
  requestCount(): number;
  close(): Promise<void>;
}

/** Declares a test, which runs with the harness of its backend. `skip` ends it and reports it as skipped, with the reason. */
export type DeclareLogTest = (
  title: string,
  run: (harness: RecordLogHarness, skip: (reason: string) => never) => Promise<void>,
) => void;
