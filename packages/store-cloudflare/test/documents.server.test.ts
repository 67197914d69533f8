import { runDocumentDatabase } from "@scrollback/documents/conformance";
import type { UIMessage } from "ai";
import { afterAll, expect, test } from "vitest";
import { makeNamespace } from "./harness.ts";
import { Workerd } from "./workerd.ts";

const workerd = Workerd.start();
afterAll(async () => (await workerd).stop());

for (const [name, kind] of [
  ["D1", "d1"],
  ["Durable Objects", "object"],
] as const)
  runDocumentDatabase({
    name,
    async createHarness() {
      const { prefix, raw, documents } = await makeNamespace((await workerd).port, kind);
      const run = (sql: string, ...parameters: string[]) => raw.batch([{ sql, parameters }]);
      return {
        connect: documents,
        requestCount: () => raw.count,
        async sweep() {
          // A swap deletes what expired. This one fails.
          const head = { incarnation: "", n: 0, tail: [], operations: new Uint8Array() };
          const expected = { token: "none", head: undefined };
          await documents().swap({ threadId: "none", expected, head: head as never });
        },
        async damage(threadId) {
          await run(`UPDATE ${prefix}heads SET head = 'damaged' WHERE thread = ?`, threadId);
        },
        close: async () => {},
      };
    },
  });

test("chats work in workerd: in an object, on an object from a Worker, and on D1", async () => {
  const { port } = await workerd;
  const reply = await fetch(`http://127.0.0.1:${port}/chats/ada/`);
  const outcome = { stored: "Hello", statuses: [200, 200], roles: ["user", "assistant"], last: "Line 8." };
  expect(await reply.json()).toEqual({ inside: outcome, remote: outcome, d1: outcome });
});

test("a chat on D1: an answer whose reader leaves is lost, but not if the runtime waits for it", async () => {
  const { port } = await workerd;
  const api = (how: string) => `http://127.0.0.1:${port}/answer/${how}/${how}/api`;
  const askAndLeave = async (how: string) => {
    const leaving = new AbortController();
    const message = { id: "q", role: "user", parts: [{ type: "text", text: "Count" }] };
    const reply = await fetch(`${api(how)}/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: "c", message }),
      signal: leaving.signal,
    });
    await reply.body?.getReader().read();
    leaving.abort();
  };
  const answerOf = async (how: string) => {
    const { messages } = (await (await fetch(`${api(how)}/chats/c`)).json()) as { messages: UIMessage[] };
    return messages.at(-1)?.parts.map((part) => (part.type === "text" ? part.text : part.type));
  };
  await askAndLeave("ends");
  await askAndLeave("waits");
  await expect.poll(() => answerOf("waits")).toEqual(["One two three four"]);
  expect(await answerOf("ends")).not.toEqual(["One two three four"]);
});
