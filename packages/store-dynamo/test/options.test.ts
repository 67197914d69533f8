import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { runFactory } from "@scrollback/conformance";
import { describe, expect, test } from "vitest";
import { DynamoDriver } from "../src/dynamo-driver.ts";
import { createDynamoStores } from "../src/index.ts";
import { parseOptions } from "../src/options.ts";

const url = "dynamodb://chats?region=eu-central-1";
const client = new DynamoDBClient({});

runFactory({
  name: "DynamoDB",
  create: createDynamoStores,
  secret: "hunter2",
  options: {
    url,
    client: () => client,
    wrong: [
      [{ tableName: "chats" }, "either url or client"],
      [{ url, tableName: "chats" }, "tableName cannot be combined with url"],
      [{ url, keyPrefix: "chats" }, "keyPrefix"],
      [{ url: `${url}&ttlMs=1000` }, "option ttlMs; pass ttlMs to createDynamoStores beside url"],
      [{ client, tableName: "" }, "tableName"],
      [{ client, tableName: "ab" }, "tableName"],
      [{ client, tableName: "a".repeat(256) }, "tableName"],
      [{ client, tableName: "chats/2" }, "tableName"],
      [{ client, tableName: "chäts" }, "tableName"],
      [{ client, tableName: 7 }, "tableName"],
      [{ client: { send() {} } }, "client"],
    ],
    wrongUrls: [
      "chats",
      "dynamodb:",
      "dynamodb:chats",
      "dynamodb://",
      "dynamodb:///chats",
      "dynamodb://chats/2",
      "dynamodb://chats:8000",
      "dynamodb://ab",
      "dynamodb://ch%C3%A4ts",
      "http://localhost:8000",
      "dynamodb://chats#hunter2",
      "dynamodb://chats?table=hunter2",
      "dynamodb://chats?accessKeyId=hunter2&secretAccessKey=hunter2",
      "dynamodb://chats?region=",
      "dynamodb://chats?region=EU%20hunter2",
      "dynamodb://chats?region=eu-central-1&region=eu-west-1",
      "dynamodb://chats?endpoint=localhost:8000",
      "dynamodb://chats?endpoint=ftp://localhost",
      "dynamodb://chats?endpoint=http://user:hunter2@localhost",
      "dynamodb://chats?endpoint=http://localhost?a=hunter2",
    ],
    urlMustRead: /url must read dynamodb:\/\/table\?region=…&endpoint=…/,
  },
});

describe("options", () => {
  test.each(["dynamodb://key:hunter2@chats", "dynamodb://hunter2@chats?region=eu-central-1"])(
    "the url %o is refused, and the message names the source of credentials",
    (invalid) => {
      expect(() => createDynamoStores({ url: invalid })).toThrow(
        expect.objectContaining({
          code: "INVALID_ARGUMENT",
          message: expect.stringMatching(/^(?!.*hunter2).*url must hold no credentials/),
        }),
      );
    },
  );

  test.each([
    ["dynamodb://chats?region=eu-central-1", "chats", "eu-central-1", undefined],
    ["dynamodb://My_Chats.v2-x?region=us-east-1", "My_Chats.v2-x", "us-east-1", undefined],
    ["dynamodb://chats/?region=us-east-1", "chats", "us-east-1", undefined],
    ["dynamodb://chats?region=local&endpoint=http://localhost:8000", "chats", "local", "localhost:8000"],
    ["dynamodb://chats?endpoint=http%3A%2F%2F%5B%3A%3A1%5D%3A8000&region=a", "chats", "a", "[::1]:8000"],
    [
      "dynamodb://chats?region=a&endpoint=https://vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com",
      "chats",
      "a",
      "vpce-1.dynamodb.eu-west-1.vpce.amazonaws.com",
    ],
  ])("the url %s is understood, without I/O", async (text, table, region, host) => {
    const { connection } = parseOptions({ url: text });
    expect(connection).toMatchObject({ tableName: table, owned: true });
    expect(await connection.client.config.region()).toBe(region);
    const endpoint = await connection.client.config.endpoint?.();
    expect(endpoint && `${endpoint.hostname}${endpoint.port ? `:${endpoint.port}` : ""}`).toBe(host);
    await using stores = createDynamoStores({ url: text });
    expect(stores.settings).toEqual({ backend: "dynamodb" });
  });

  test("a client's table has a default name", () => {
    expect(parseOptions({ client }).connection).toEqual({ client, tableName: "scrollback", owned: false });
    expect(parseOptions({ client, tableName: "chats" }).connection).toMatchObject({ tableName: "chats" });
  });

  test("a url without a region uses the environment's", async () => {
    const before = process.env.AWS_REGION;
    process.env.AWS_REGION = "ap-south-1";
    try {
      const { connection } = parseOptions({ url: "dynamodb://chats" });
      expect(await connection.client.config.region()).toBe("ap-south-1");
    } finally {
      if (before === undefined) delete process.env.AWS_REGION;
      else process.env.AWS_REGION = before;
    }
  });
});

test("a driver's target has the table", () => {
  const { connection } = parseOptions({ url });
  expect(new DynamoDriver(connection).target).toEqual({ collection: "chats" });
});
