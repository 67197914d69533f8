// A program for tests with several processes: node child.ts <url> <name>. Puts checkpoints with writes into a shared thread
// until it is killed, and prints the number of each acknowledged checkpoint.
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, putValues } from "./checkpoints.ts";

// A killed process keeps no compiled modules for the next one.
flushCompileCache();
const [url = "", name = ""] = process.argv.slice(2);
const saver = new ScrollbackSaver({ stores: await openTestStores(url) });
let config = configOf("shared");
for (let n = 1; ; n++) {
  const long = "x".repeat(n % 3 === 0 ? 50_000 : 10);
  config = await putValues(saver, config, `${String(n).padStart(6, "0")} ${name}`, { n, name, long });
  await saver.putWrites(config, [["n", n]], name);
  writeSync(1, `${n}\n`);
}
