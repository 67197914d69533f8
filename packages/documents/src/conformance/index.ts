/**
 * Tests and a harness for a database of documents.
 *
 * @packageDocumentation
 */
export { type DocumentBackend, documentHarness } from "./document-harness.ts";
export type { DocumentDatabaseHarness } from "./harness.ts";
export { type DocumentDatabaseOptions, runDocumentDatabase } from "./run-document-database.ts";
