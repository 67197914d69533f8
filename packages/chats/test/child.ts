// A program for tests with several processes: node child.ts <url> <chat>. Writes questions and answers to the given chat
// until it is killed, and prints the id of each acknowledged question and answer.
import { writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import { openTestStores } from "../../../conformance-tests/test/fixtures/test-stores.ts";
import { ChatStore } from "../src/index.ts";
import { fileOf, message } from "./contract/values.ts";

// A killed process keeps no compiled modules for the next one.
flushCompileCache();
const [url = "", chatId = ""] = process.argv.slice(2);
const chats = new ChatStore<ReturnType<typeof message>>({
  stores: await openTestStores(url),
  beatMs: 5,
  fileBytes: 8,
  leaseMs: 1_000,
});
const mine = chats.of("ada");
for (let n = 1; ; n++) {
  const run = await mine.begin(
    chatId,
    { append: [message(`q${n}`, "user", fileOf(`q${n}`))] },
    { messageId: `a${n}` },
  );
  writeSync(1, `q${n}\n`);
  run.update(message(`a${n}`, "assistant", fileOf("half")));
  await run.save();
  await run.end({ message: message(`a${n}`, "assistant", fileOf("whole")), status: "complete" });
  writeSync(1, `a${n}\n`);
}
