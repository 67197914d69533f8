import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { recordLogHarness } from "@scrollback/record-log/conformance";
import { type Namespace, openLog } from "./client.ts";
import { watchedLog } from "./queries.ts";
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
    return recordLogHarness({
      server: { product, version },
      connect: () => openLog(namespace),
      connectCounted() {
        const { log, sent } = watchedLog(namespace);
        return { log, requestCount: () => sent.length };
      },
      childProcess: { module, data: namespace },
      rows: table.rows,
      replaceTexts: table.replaceTexts,
      dumpIndex: table.dumpIndex,
      faults: { connect: () => openLog(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await proxy.close();
        await table[Symbol.asyncDispose]();
      },
    });
  };
}
