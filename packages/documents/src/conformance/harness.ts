import type { DocumentDatabase } from "../database.ts";

/** What the tests of a database need from a backend. */
export interface DocumentDatabaseHarness {
  /** Opens a database with connections of its own. All have the same documents, which nothing else uses. The suite closes it. */
  connect(): DocumentDatabase;
  /** Deletes the documents of a thread whose `until` has passed, as the backend does at some time. */
  sweep(threadId: string): Promise<void>;
  /** Replaces the head of a thread, which exists, by something that is not a head. */
  damage(threadId: string): Promise<void>;
  /** The number of requests that its databases have sent so far. */
  requestCount(): number;
  close(): Promise<void>;
}

/** Declares a test, which runs with a database. */
export type DeclareTest = (
  title: string,
  run: (database: DocumentDatabase, harness: DocumentDatabaseHarness) => Promise<void>,
) => void;
