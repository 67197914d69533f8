import { readFileSync } from "node:fs";
import { runGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { afterAll } from "vitest";
import { RedisDriver } from "../src/redis-driver.ts";
import { writeStored } from "./golden/stored.ts";

const server = startServer("redis");
afterAll(async () => (await server).stop());
const { facts, stored } = JSON.parse(readFileSync(new URL("golden/format-1.json", import.meta.url), "utf8"));

runGolden({
  name: "Redis, format 1",
  facts,
  async load() {
    const client = new Redis((await server).url);
    await writeStored(client, stored);
    return {
      driver: new RedisDriver({ client, owned: false }),
      close: async () => client.disconnect(),
    };
  },
});
