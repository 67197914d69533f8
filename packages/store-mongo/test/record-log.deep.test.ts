import { sharedServer } from "@scrollback/conformance/servers";
import { runRecordLog } from "@scrollback/record-log/conformance";
import { keysFrom } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection } from "./collection.ts";
import { type SentCommand, watchable, watchCommands } from "./commands.ts";

const server = sharedServer("mongodb");

runRecordLog({
  name: "MongoDB",
  async createLog() {
    const collection = makeCollection((await server).url);
    const { url, database, collectionName, rows } = collection;
    const sent: SentCommand[] = [];
    return {
      connect() {
        const { collection: used } = parseOptions({ url: watchable(url), database, collectionName });
        watchCommands(used.client, sent);
        return new MongoRecordLog(used);
      },
      requestCount: () => sent.length,
      // Simulates the server, which does this once a minute if the index exists.
      async sweep(stream) {
        const _id = keysFrom(stream, 1, Number.POSITIVE_INFINITY);
        await rows.deleteMany({ _id, expiresAt: { $lte: new Date() } });
      },
      async close() {
        await collection[Symbol.asyncDispose]();
      },
    };
  },
});
