import { type Harness, TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { DocumentDriver } from "@scrollback/documents";
import type { MessageRecord } from "@scrollback/store-core/driver";
import { type MessageDocument, roles } from "../src/document.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";
import { connect, type Namespace } from "./client.ts";
import { documentsOf, makeCollection, throughProxy } from "./collection.ts";
import { watchable, watchCommands } from "./commands.ts";

/** Returns a function that creates harnesses on a server, each with its own collection. */
export function mongoHarnesses(starting: Promise<SharedServer>): () => Promise<Harness> {
  return async () => {
    const { product, version, url } = await starting;
    const collection = makeCollection(url);
    const { database, collectionName, heads, pages, entries } = collection;
    const namespace: Namespace = { url, database, collectionName };
    const proxy = new TcpProxy();
    const faulty: Namespace = { ...namespace, url: await throughProxy(url, proxy) };
    const module = new URL("./client.ts", import.meta.url);
    const { collection: used } = parseOptions({ ...namespace, url: watchable(url) });
    const sent = watchCommands(used.client);
    const driver = new DocumentDriver(new MongoDocuments(used));
    return {
      driver,
      server: { product, version },
      connect: () => connect(namespace),
      childProcess: { module, data: namespace },
      requestCount: () => sent.length,
      raw: {
        async dump(threadId) {
          const documents = await documentsOf(collection, threadId);
          return documents.map((document) => JSON.stringify(document).replaceAll('\\"', '"')).join("\n");
        },
        async plant(threadId, sequence, { kind, createdAt, text }) {
          const message = {
            n: sequence,
            role: roles[kind as MessageRecord["kind"]] ?? kind,
            at: new Date(createdAt),
            record: text,
          };
          const planted = (messages: readonly MessageDocument[]) =>
            messages.map((one) => (one.n === sequence ? (message as MessageDocument) : one));
          for (const document of await documentsOf(collection, threadId)) {
            const { _id, messages } = document;
            if (typeof _id === "object")
              await pages.updateOne({ _id }, { $set: { messages: planted(messages) } });
            else if ("pins" in document) {
              const [incarnation, n] = document.revision.split(".");
              // As anybody who changes a head by hand must: otherwise a process that knows the head would not see it.
              const revision = `${incarnation}.${Number(n) + 1}`;
              const changed = { revision, messages: planted(messages), pins: planted(document.pins) };
              await heads.updateOne({ _id }, { $set: changed });
            }
          }
        },
        dumpIndex: async (index) => JSON.stringify(await entries.find({ index }).toArray()),
      },
      faults: { connect: () => connect(faulty), proxy, childProcess: { module, data: faulty } },
      async close() {
        await driver.close();
        await proxy.close();
        await collection[Symbol.asyncDispose]();
      },
    };
  };
}
