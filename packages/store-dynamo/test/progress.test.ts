import { type BatchGetItemCommandInput, DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { expect, test } from "vitest";
import { DynamoTable } from "../src/table.ts";

test("a batch of which each attempt does a part is done, however many attempts that takes", async () => {
  const client = new DynamoDBClient({ region: "eu-central-1" });
  client.middlewareStack.add(
    () =>
      async ({ input }) => {
        const { Keys = [] } = (input as BatchGetItemCommandInput).RequestItems?.chats ?? {};
        const Responses = { chats: Keys.slice(0, 1) };
        const UnprocessedKeys = { chats: { Keys: Keys.slice(1) } };
        return { output: { $metadata: {}, Responses, UnprocessedKeys }, response: {} };
      },
    { step: "initialize" },
  );
  const { signal } = new AbortController();
  const send = async <T>(request: (how: { abortSignal: AbortSignal }) => Promise<T>) =>
    await request({ abortSignal: signal });
  const table = new DynamoTable({ client, tableName: "chats", signal, send });
  const keys = Array.from({ length: 60 }, (_, index) => ({ thread: `${index}`, item: "~head" }));
  expect(await table.getAll(keys)).toHaveLength(60);
});
