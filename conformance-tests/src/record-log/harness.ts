import type { RecordLog } from "@scrollback/store-core";

/** What the tests of a record log need of a backend. */
export interface RecordLogHarness {
  /** Returns a log with connections of its own. All logs share the same rows, which nothing else uses. The suite closes it. */
  connect(): RecordLog;
  /** Deletes the rows of a stream that are past their `expiresAt`, as the backend does at a time of its own. */
  sweep(stream: string): Promise<void>;
  /** How many requests its logs have sent so far, repetitions included. */
  requestCount(): number;
  close(): Promise<void>;
}

/** Declares a test, which runs with the harness of its backend. `skip` ends it and reports it as skipped, with the reason. */
export type DeclareLogTest = (
  title: string,
  run: (harness: RecordLogHarness, skip: (reason: string) => never) => Promise<void>,
) => void;
