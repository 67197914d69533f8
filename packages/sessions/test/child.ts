// A program for tests with several processes: node child.ts <url> <name>. Appends to its own session until it is killed,
// and prints the number of each acknowledged event.
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { SessionService } from "../src/index.ts";
import { setting } from "./events.ts";

// A killed process keeps no compiled modules for the next one.
flushCompileCache();
const [url = "", name = ""] = process.argv.slice(2);
const sessions = new SessionService({ stores: await openTestStores(url) });
const session = await sessions.createSession({ appName: "app", userId: "ada", sessionId: name });
for (let n = 1; ; n++) {
  const key = `${name}-${n}`;
  const stateDelta = { [key]: n, [`app:${key}`]: n, [`user:${key}`]: n, "app:newest": key };
  await sessions.appendEvent({ session, event: setting(key, stateDelta) });
  writeSync(1, `${n}\n`);
}
