import { randomUUID } from "node:crypto";
import { type RunningServer, startServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { afterAll, beforeAll } from "vitest";

/** A DynamoDB with a table for the tests of one file. @returns its URL, defined while the tests run. */
export function dynamoForTests(): () => string {
  // DynamoDB Local accepts any credentials; the clients get them through the standard chain, as in production.
  process.env.AWS_ACCESS_KEY_ID = "agents";
  process.env.AWS_SECRET_ACCESS_KEY = "hush";
  let server: RunningServer;
  let url: string;
  beforeAll(async () => {
    server = await startServer("dynamodb");
    const query = new URLSearchParams({ region: "eu-central-1", endpoint: server.url });
    url = `dynamodb://agents-${randomUUID()}?${query}`;
    await using stores = await openStores(url);
    await stores.setup();
  });
  afterAll(() => server.stop());
  return () => url;
}
