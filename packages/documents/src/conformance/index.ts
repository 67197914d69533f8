/**
 * Tests and a harness for a database of documents.
 *
 * @packageDocumentation
 */
export { documentHarness } from "./document-harness.ts";
export type { DocumentDatabaseHarness } from "./harness.ts";
export { runDocumentDatabase } from "./run-document-database.ts";
