import { runFactory } from "@scrollback/conformance";
import { openStores, RecordLogDriver } from "@scrollback/store-core";
import { Client, type ClientConfig, Pool } from "pg";
import { describe, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { parseOptions } from "../src/options.ts";
import { PostgresRecordLog } from "../src/postgres-log.ts";
import { qualified } from "../src/setup.ts";

const url = "postgres://localhost/app";
/** An option of pg that is missing in its types. */
const binary: ClientConfig & { binary: boolean } = { binary: true };

runFactory({
  name: "PostgreSQL",
  create: createPostgresStores,
  secret: "hunter",
  options: {
    url,
    client: () => new Pool(),
    wrong: [
      [{ url, collectionName: "chats" }, "collectionName"],
      [{ url, tableName: "" }, "tableName"],
      [{ url, tableName: "a\0" }, "tableName"],
      [{ url, tableName: "é".repeat(29) }, "tableName"],
      [{ url, schema: "" }, "schema"],
      [{ url, schema: 7 }, "schema"],
      [{ client: new Pool(binary) }, "client"],
      [{ client: new Client(binary) }, "client"],
    ],
    wrongUrls: [
      "localhost:5432",
      "mysql://localhost",
      "postgres:",
      "postgres:///app",
      "postgres://user:hunter/2@localhost",
      "postgres://user:hunter%zz@localhost",
      "postgres://user:hunter2@localhost:99999",
      "postgres://user:hunter2@localhost/app?sslrootcert=/no/such/hunter.pem",
    ],
    urlMustRead: /url .*must read postgres:\/\/\[user\[:password\]@\]host/,
    hidden: ["99999"],
  },
});

describe("options", () => {
  test("names with any characters are quoted", () => {
    expect(qualified(undefined, 'a"b')).toBe('"a""b"');
    expect(qualified("my schema", "t;DROP")).toBe('"my schema"."t;DROP"');
  });
});

describe("the table", () => {
  test("is scrollback_messages in the search path, unless options name another one", () => {
    expect(parseOptions({ url }).table).toMatchObject({
      schema: undefined,
      tableName: "scrollback_messages",
      owned: true,
    });
    const client = new Pool({ connectionString: url });
    expect(parseOptions({ client, schema: "chat", tableName: "rows" }).table).toEqual({
      client,
      schema: "chat",
      tableName: "rows",
      owned: false,
    });
  });

  test("the factory's own pool connects within 4 seconds", () => {
    expect(parseOptions({ url }).table.client).toMatchObject({ options: { connectionTimeoutMillis: 4_000 } });
  });
});

test.each(["postgres", "postgresql"])("openStores accepts %s://, without I/O", async (scheme) => {
  await using stores = await openStores(`${scheme}://localhost/app`, { maxMessages: 5 });
  expect(stores.settings).toEqual({ backend: "postgres", maxMessages: 5 });
});

test.each([
  ["a URL", { url: "postgres://app:hunter2@db:6543/shop" }],
  ["a pool", { client: new Pool({ connectionString: "postgres://app:hunter2@db:6543/shop" }) }],
  ["a client", { client: new Client("postgres://app:hunter2@db:6543/shop") }],
])("a driver's target has the database and the table, and no secret: %s", (_, options) => {
  const { table } = parseOptions({ ...options, tableName: "chats" });
  expect(new RecordLogDriver(new PostgresRecordLog(table)).target).toEqual({
    collection: "chats",
    namespace: "shop",
    server: { address: "db", port: 6543 },
  });
});
