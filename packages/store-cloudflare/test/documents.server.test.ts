import { runDocumentDatabase } from "@scrollback/documents/conformance";
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
