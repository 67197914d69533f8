import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { documentHarness } from "@scrollback/documents/conformance";
import { type Namespace, openDocuments } from "./client.ts";
import { watchedDocuments } from "./queries.ts";
import { makeTable } from "./table.ts";

/** Returns a function that creates harnesses on a server, each with its own tables. */
export function mariadbHarnesses(starting: Promise<SharedServer>): () => Promise<Harness> {
  return async () => {
    const { product, version, url } = await starting;
    const table = await makeTable(url);
    const namespace: Namespace = { url, tableName: table.tableName };
    const proxy = new TcpProxy();
    const faulty: Namespace = { ...namespace, url: await proxy.forwardUrl(url, 3306) };
    const module = new URL("./client.ts", import.meta.url);
    return documentHarness({
      server: { product, version },
      connect: () => openDocuments(namespace),
      connectCounted() {
        const { database, sent } = watchedDocuments(namespace);
        return { database, requestCount: () => sent.length };
      },
      childProcess: { module, data: namespace },
      dump: table.dump,
      dumpIndex: table.dumpIndex,
      faults: { connect: () => openDocuments(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await proxy.close();
        await table[Symbol.asyncDispose]();
      },
    });
  };
}
