import { runRecordLog } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { keysFrom } from "../src/document.ts";
import { MongoRecordLog } from "../src/mongo-log.ts";
import { parseOptions } from "../src/options.ts";
import { makeCollection } from "./collection.ts";

const server = startServer("mongodb");
afterAll(async () => (await server).stop());

runRecordLog({
  name: "MongoDB",
  async createLog() {
    const collection = makeCollection((await server).url);
    const { url, database, collectionName, rows } = collection;
    return {
      connect: () => new MongoRecordLog(parseOptions({ url, database, collectionName }).place),
      // As the server does once a minute where there is the index.
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
