import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { RedisDriver } from "../src/redis-driver.ts";
import { writeStored } from "./golden/stored.ts";
import { ownOf } from "./own-connection.ts";

const server = sharedServer("redis");
const { facts, stored } = JSON.parse(readFileSync(new URL("golden/format-1.json", import.meta.url), "utf8"));

runGolden({
  name: "Redis, format 1",
  facts,
  async load() {
    // The stored keys have the default prefix, so they are in a database of their own.
    const client = new Redis((await server).url, { db: 9 });
    await writeStored(client, stored);
    return {
      driver: new RedisDriver(ownOf(client)),
      close: async () => client.disconnect(),
    };
  },
});
