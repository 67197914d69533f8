import { sharedServer } from "@scrollback/conformance/servers";
import { runDocumentDatabase } from "@scrollback/documents/conformance";
import { pagesOf } from "../src/document.ts";
import { MongoDocuments } from "../src/mongo-documents.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection } from "./collection.ts";
import { type SentCommand, watchable, watchCommands } from "./commands.ts";

const server = sharedServer("mongodb");

runDocumentDatabase({
  name: "MongoDB",
  async createHarness() {
    const collection = makeCollection((await server).url);
    const { url, database, collectionName, heads, pages } = collection;
    const sent: SentCommand[] = [];
    return {
      connect() {
        const { collection: used } = parseOptions({ url: watchable(url), database, collectionName });
        watchCommands(used.client, sent);
        return new MongoDocuments(used);
      },
      // Simulates the server, which does this once a minute if the index exists.
      async sweep(threadId) {
        const isDue = { until: { $lte: new Date() } };
        await heads.deleteMany({ _id: threadId, ...isDue });
        await pages.deleteMany({ _id: pagesOf(threadId), ...isDue });
      },
      async damage(threadId) {
        await heads.updateOne({ _id: threadId }, { $set: { revision: "damaged" } });
      },
      requestCount: () => sent.length,
      async close() {
        await collection[Symbol.asyncDispose]();
      },
    };
  },
});
