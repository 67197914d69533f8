import { type Harness, type RawAccess, recordLogAccess, TcpProxy } from "@scrollback/conformance";
import type { RunningServer } from "@scrollback/conformance/servers";
import { RecordLogDriver } from "@scrollback/store-core";
import { keyOf, keysFrom, toRow } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { connect, type Namespace } from "./client.ts";
import { makeCollection, type TestCollection, throughProxy } from "./collection.ts";
import { watchable, watchCommands } from "./commands.ts";

/** What makes harnesses on a server, each on a collection of its own. */
export function mongoHarnesses(starting: Promise<RunningServer>): () => Promise<Harness> {
  return async () => {
    const { product, version, url } = await starting;
    const collection = makeCollection(url);
    const { database, collectionName } = collection;
    const namespace: Namespace = { url, database, collectionName };
    const { collection: used } = parseOptions({ ...namespace, url: watchable(url) });
    const sent = watchCommands(used.client);
    const driver = new RecordLogDriver(new MongoRecordLog(used));
    const proxy = new TcpProxy();
    const faulty: Namespace = { ...namespace, url: await throughProxy(url, proxy) };
    const module = new URL("./client.ts", import.meta.url);
    return {
      driver,
      server: { product, version },
      connect: () => connect(namespace),
      childProcess: { module, data: namespace },
      raw: rawAccess(collection, namespace),
      requestCount: () => sent.length,
      faults: { connect: () => connect(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await driver.close();
        await proxy.close();
        await collection[Symbol.asyncDispose]();
      },
    };
  };
}

function rawAccess({ rows }: TestCollection, namespace: Namespace): RawAccess {
  return recordLogAccess({
    connect: () => new MongoRecordLog(parseOptions(namespace).collection),
    async rows(threadId) {
      return (await rows.find({ _id: keysFrom(threadId, 1, Number.POSITIVE_INFINITY) }).toArray()).map(toRow);
    },
    async replaceTexts(threadId, number, texts) {
      await rows.updateOne({ _id: keyOf(threadId, number) }, { $set: { texts: [...texts] } });
    },
  });
}
