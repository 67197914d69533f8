import { DocumentDriver } from "@scrollback/documents";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";

/** A collection on a server. Plain data, because it is sent to child processes. */
export interface Namespace {
  readonly url: string;
  readonly database: string;
  readonly collectionName: string;
}

export function openDocuments(namespace: Namespace): MongoDocuments {
  return new MongoDocuments(parseOptions(namespace).collection);
}

/** A driver on a namespace. Imported by child processes. */
export function connect(data: unknown): DocumentDriver {
  return new DocumentDriver(openDocuments(data as Namespace));
}
