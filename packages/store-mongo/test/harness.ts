import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { recordLogHarness } from "@scrollback/record-log/conformance";
import type { CountedLog } from "@scrollback/record-log/internal";
import { keyOf, keysFrom, toRow } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { type Namespace, openLog } from "./client.ts";
import { makeCollection, throughProxy } from "./collection.ts";
import { watchable, watchCommands } from "./commands.ts";

/** Returns a function that creates harnesses on a server, each with its own collection. */
export function mongoHarnesses(starting: Promise<SharedServer>): () => Promise<Harness> {
  return async () => {
    const { product, version, url } = await starting;
    const collection = makeCollection(url);
    const { database, collectionName, rows, entries } = collection;
    const namespace: Namespace = { url, database, collectionName };
    const proxy = new TcpProxy();
    const faulty: Namespace = { ...namespace, url: await throughProxy(url, proxy) };
    const module = new URL("./client.ts", import.meta.url);
    return recordLogHarness({
      server: { product, version },
      connect: () => openLog(namespace),
      connectCounted: () => openCountedLog(namespace),
      childProcess: { module, data: namespace },
      async rows(stream) {
        const _id = keysFrom(stream, 1, Number.POSITIVE_INFINITY);
        return (await rows.find({ _id }).toArray()).map(toRow);
      },
      async replaceTexts(stream, number, texts) {
        await rows.updateOne({ _id: keyOf(stream, number) }, { $set: { texts: [...texts] } });
      },
      dumpIndex: async (index) => JSON.stringify(await entries.find({ index }).toArray()),
      faults: { connect: () => openLog(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await proxy.close();
        await collection[Symbol.asyncDispose]();
      },
    });
  };
}

/** Counts the client's commands: a read of many rows sends several. */
function openCountedLog({ url, ...names }: Namespace): CountedLog {
  const { collection } = parseOptions({ ...names, url: watchable(url) });
  const sent = watchCommands(collection.client);
  return { log: new MongoRecordLog(collection), requestCount: () => sent.length };
}
