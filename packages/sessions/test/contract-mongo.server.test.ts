import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createMongoStores } from "@scrollback/store-mongo";
import { afterAll } from "vitest";
import { runSessionContract } from "../src/contract/index.ts";
import { harnessOf } from "./harnesses.ts";

const server = startServer("mongodb");
afterAll(async () => (await server).stop());

runSessionContract({
  name: "MongoDB",
  createHarness: async () => {
    const { url } = await server;
    const place = { url, database: "scrollback_sessions", collectionName: randomUUID() };
    return harnessOf(() => createMongoStores(place));
  },
});
