/**
 * A database of documents on any client of SQLite.
 *
 * @packageDocumentation
 */
export type { SqliteClient } from "./client.ts";
export { SqliteDocuments } from "./sqlite-documents.ts";
