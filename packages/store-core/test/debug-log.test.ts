import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);

const program = `
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
class Failing extends MemoryDriver {
  #isFirst = true;
  commit(request) {
    if (!this.#isFirst) return super.commit(request);
    this.#isFirst = false;
    return Promise.reject(new Error("secret of the backend"));
  }
  classifyError() {
    return { code: "UNAVAILABLE", message: "the server is away", retryable: true };
  }
}
await createStores(new MemoryDriver()).setup();
const stores = createStores(new Failing());
const store = stores.open("chat-1");
await store.addMessages([{ role: "user", content: "private text" }]);
await store.listMessages();
await stores.index("chats").insert({ key: "private key", id: "1" }, { version: 1, order: 1, value: "secret" });
`;

async function linesOf(debug: string | undefined): Promise<string[]> {
  const { stderr } = await run(process.execPath, ["--input-type=module", "--eval", program], {
    cwd: import.meta.dirname,
    env: { ...process.env, NODE_DEBUG: debug },
  });
  return stderr
    .split("\n")
    .filter((line) => line.includes("SCROLLBACK"))
    .map((line) => line.replace(/^SCROLLBACK \d+: /, "").replace(/\d+\.\d ms/, "0 ms"));
}

test("NODE_DEBUG=scrollback shows requests, commits, reads and retries, and no texts", async () => {
  const lines = await linesOf("scrollback");
  expect(lines).toEqual([
    // The commit of setup is refused if the backend works: no conflict.
    "  memory: check in 0 ms, done",
    '  memory: commit of "chat-1" in 0 ms, failed: Error',
    'addMessages of "chat-1" is retried: the server is away',
    '  memory: commit of "chat-1" in 0 ms, committed',
    expect.stringMatching(/^addMessages of "chat-1" in 0 ms: 1 messages, \d+ bytes, 1 retries, done$/),
    '  memory: read of "chat-1" in 0 ms, done',
    expect.stringMatching(/^listMessages of "chat-1" in 0 ms: 1 messages, \d+ bytes, 0 retries, done$/),
    "  memory index: insertEntry in 0 ms, done",
  ]);
  expect(lines.join()).not.toMatch(/private|secret/);
});

test("without it nothing is written", async () => {
  expect(await linesOf(undefined)).toEqual([]);
});
