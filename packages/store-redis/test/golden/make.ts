/**
 * `node test/golden/make.ts` writes what threads of today's format look like in Redis, and what was given out for them. Once
 * for each version of the format: a file that is there is never written again, as threads like these exist.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { RedisDriver } from "../../src/redis-driver.ts";
import { readStored } from "./stored.ts";

await using server = await startServer("redis");
const client = new Redis(server.url);
const facts = await writeGolden(new RedisDriver({ client, owned: false }));
const stored = await readStored(client);
client.disconnect();
writeFileSync(new URL("format-1.json", import.meta.url), `${JSON.stringify({ facts, stored }, null, 2)}\n`, {
  flag: "wx",
});
