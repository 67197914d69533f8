import type { RecordLog } from "@scrollback/store-core";

/** What the record log's part of the suite needs of a backend. */
export interface RecordLogHarness {
  /** A log with connections of its own, each time on the same rows, which nothing else uses. Closed by the suite. */
  connect(): RecordLog;
  /** Deletes the rows of a stream that are past their expiry, as the backend does in its own time. */
  sweep(stream: string): Promise<void>;
  close(): Promise<void>;
}

/** A declared test, run with the harness of its backend. `skip` ends it as left out, with the reason. */
export type DeclareLogTest = (
  title: string,
  run: (harness: RecordLogHarness, skip: (reason: string) => never) => Promise<void>,
) => void;
