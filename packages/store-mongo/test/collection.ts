import { randomUUID } from "node:crypto";
import type { TcpProxy } from "@scrollback/conformance";
import { type Collection, MongoClient } from "mongodb";
import type { RowDocument } from "../src/document.ts";
import type { Namespace } from "./client.ts";

/** A collection that nothing else uses, and a client of its own to look into it. */
export interface TestCollection extends Namespace, AsyncDisposable {
  readonly rows: Collection<RowDocument>;
}

export function makeCollection(url: string): TestCollection {
  const client = new MongoClient(url);
  const [database, collectionName] = ["scrollback_suite", `suite-${randomUUID()}`];
  const rows = client.db(database).collection<RowDocument>(collectionName);
  return {
    url,
    database,
    collectionName,
    rows,
    async [Symbol.asyncDispose]() {
      await rows.drop();
      await client.close();
    },
  };
}

/** The URL of a server by way of a proxy. */
export async function throughProxy(url: string, proxy: TcpProxy): Promise<string> {
  const faulty = new URL(await proxy.forwardUrl(url, 27017));
  // The server may tell addresses that do not lead through the proxy.
  faulty.searchParams.set("directConnection", "true");
  return faulty.href;
}
