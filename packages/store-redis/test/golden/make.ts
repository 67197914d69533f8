/**
 * `node test/golden/make.ts` writes threads in the current format, as stored in Redis, and the results that callers got for
 * them. It runs once per version of the format, and never overwrites a file, because users have stored threads like these.
 */
import { writeFileSync } from "node:fs";
import { writeGolden } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Redis } from "ioredis";
import { RedisDriver } from "../../src/redis-driver.ts";
import { ownOf } from "../own-connection.ts";
import { readStored } from "./stored.ts";

await using server = await startServer("redis");
const client = new Redis(server.url);
const facts = await writeGolden(new RedisDriver(ownOf(client)));
const stored = await readStored(client);
client.disconnect();
writeFileSync(new URL("format-1.json", import.meta.url), `${JSON.stringify({ facts, stored }, null, 2)}\n`, {
  flag: "wx",
});
