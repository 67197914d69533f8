import { DocumentDriver } from "@scrollback/documents";
import { SqlClient } from "../src/client.ts";
import { SqlDocuments } from "../src/sql-documents.ts";

/** A driver on a file. Imported by child processes. */
export const connect = (path: unknown) => new DocumentDriver(new SqlDocuments(new SqlClient(String(path))));
