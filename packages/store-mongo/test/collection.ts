import { randomUUID } from "node:crypto";
import type { TcpProxy } from "@scrollback/conformance";
import { type Collection, MongoClient } from "mongodb";
import { type HeadDocument, type PageDocument, pagesOf } from "../src/document.ts";
import type { EntryDocument } from "../src/entries.ts";
import { entriesName } from "../src/mongo-documents.ts";
import type { Namespace } from "./client.ts";

/** An unused collection, and a separate client to inspect it. */
export interface TestCollection extends Namespace, AsyncDisposable {
  readonly heads: Collection<HeadDocument>;
  readonly pages: Collection<PageDocument>;
  readonly entries: Collection<EntryDocument>;
}

export function makeCollection(url: string): TestCollection {
  const client = new MongoClient(url);
  const [database, collectionName] = ["scrollback_suite", `suite-${randomUUID()}`];
  const db = client.db(database);
  const heads = db.collection<HeadDocument>(collectionName);
  const pages = db.collection<PageDocument>(collectionName);
  const entries = db.collection<EntryDocument>(entriesName(collectionName));
  return {
    ...{ url, database, collectionName, heads, pages, entries },
    async [Symbol.asyncDispose]() {
      await heads.drop();
      await entries.drop();
      await client.close();
    },
  };
}

/** All documents of a thread: its head, if it has one, then its pages. */
export async function documentsOf(
  { heads, pages }: TestCollection,
  threadId: string,
): Promise<(HeadDocument | PageDocument)[]> {
  const [head, ...more] = await Promise.all([
    heads.find({ _id: threadId }).toArray(),
    pages.find({ _id: pagesOf(threadId) }).toArray(),
  ]);
  return [...head, ...more.flat()];
}

/** The URL of a server through a proxy. */
export async function throughProxy(url: string, proxy: TcpProxy): Promise<string> {
  const faulty = new URL(await proxy.forwardUrl(url, 27017));
  // The server may report addresses that bypass the proxy.
  faulty.searchParams.set("directConnection", "true");
  return faulty.href;
}
