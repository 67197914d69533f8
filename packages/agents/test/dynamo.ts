import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { beforeAll } from "vitest";

/** A table on DynamoDB for the tests of one file. @returns its URL, defined while the tests run. */
export function dynamoForTests(): () => string {
  // DynamoDB Local accepts any credentials; the clients get them through the standard chain, as in production.
  process.env.AWS_ACCESS_KEY_ID = "agents";
  process.env.AWS_SECRET_ACCESS_KEY = "hush";
  let url: string;
  beforeAll(async () => {
    const { url: endpoint } = await sharedServer("dynamodb");
    const query = new URLSearchParams({ region: "eu-central-1", endpoint });
    url = `dynamodb://agents-${randomUUID()}?${query}`;
    await using stores = await openStores(url);
    await stores.setup();
  });
  return () => url;
}
