import { randomUUID } from "node:crypto";
import type { TcpProxy } from "@scrollback/conformance";
import { FIRST_ROW } from "@scrollback/record-log";
import { type Collection, MongoClient } from "mongodb";
import { keysFrom, type RowDocument } from "../src/document.ts";
import type { EntryDocument } from "../src/entries.ts";
import { entriesName } from "../src/mongo-log.ts";
import type { Namespace } from "./client.ts";

/** An unused collection, and a separate client to inspect it. */
export interface TestCollection extends Namespace, AsyncDisposable {
  readonly rows: Collection<RowDocument>;
  readonly entries: Collection<EntryDocument>;
}

export function makeCollection(url: string): TestCollection {
  const client = new MongoClient(url);
  const [database, collectionName] = ["scrollback_suite", `suite-${randomUUID()}`];
  const rows = client.db(database).collection<RowDocument>(collectionName);
  const entries = client.db(database).collection<EntryDocument>(entriesName(collectionName));
  return {
    url,
    database,
    collectionName,
    rows,
    entries,
    async [Symbol.asyncDispose]() {
      await rows.drop();
      await entries.drop();
      await client.close();
    },
  };
}

/** The rows of a thread without its root, by number. */
export const rowsOf = ({ rows }: TestCollection, threadId: string) =>
  rows
    .find({ _id: keysFrom(threadId, FIRST_ROW, Number.POSITIVE_INFINITY) })
    .sort({ _id: 1 })
    .toArray();

/** The URL of a server through a proxy. */
export async function throughProxy(url: string, proxy: TcpProxy): Promise<string> {
  const faulty = new URL(await proxy.forwardUrl(url, 27017));
  // The server may report addresses that bypass the proxy.
  faulty.searchParams.set("directConnection", "true");
  return faulty.href;
}
