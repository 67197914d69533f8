import { DocumentDriver } from "@scrollback/documents";
import { MariadbDocuments } from "../src/mariadb-documents.ts";
import { parseOptions } from "../src/options.ts";

/** The tables on a server. Plain data, because it is sent to child processes. */
export interface Namespace {
  readonly url: string;
  readonly tableName: string;
}

export function openDocuments({ url, tableName }: Namespace): MariadbDocuments {
  return new MariadbDocuments(parseOptions({ url, tableName }).table);
}

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): DocumentDriver {
  return new DocumentDriver(openDocuments(data as Namespace));
}
