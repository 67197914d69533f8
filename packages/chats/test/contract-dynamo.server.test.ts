import { randomUUID } from "node:crypto";
import { startServer } from "@scrollback/conformance/servers";
import { createDynamoStores } from "@scrollback/store-dynamo";
import { afterAll } from "vitest";
import { runChatContract } from "../src/contract/index.ts";

// DynamoDB Local takes any credentials; they come to the client as a user's would, through the standard chain.
process.env.AWS_ACCESS_KEY_ID = "chats";
process.env.AWS_SECRET_ACCESS_KEY = "any";

const server = startServer("dynamodb");
afterAll(async () => (await server).stop());

runChatContract({
  name: "DynamoDB",
  createHarness: async () => {
    const { url: endpoint } = await server;
    const place = new URLSearchParams({ region: "eu-central-1", endpoint });
    const url = `dynamodb://chats-${randomUUID()}?${place}`;
    await using stores = createDynamoStores({ url });
    await stores.setup();
    return { openStores: () => createDynamoStores({ url }), close: async () => undefined };
  },
});
