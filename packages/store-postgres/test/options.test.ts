import { openStores, RecordLogDriver, StoreError } from "@scrollback/store-core";
import { Client, Pool } from "pg";
import { describe, expect, test } from "vitest";
import { createPostgresStores, type PostgresStoreOptions } from "../src/index.ts";
import { parseOptions } from "../src/options.ts";
import { PostgresRecordLog } from "../src/postgres-log.ts";
import { qualified } from "../src/setup.ts";

const url = "postgres://localhost/app";

function refusal(options: unknown): StoreError {
  try {
    createPostgresStores(options as PostgresStoreOptions);
  } catch (error) {
    if (StoreError.is(error, "INVALID_ARGUMENT")) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("options", () => {
  test("url and client exclude each other, and one is needed", () => {
    const client = new Pool();
    for (const options of [{}, undefined, { url, client }])
      expect(refusal(options).message).toContain("either url or client");
  });

  test.each([
    [{ url, maxMessage: 3 }, "maxMessage"],
    [{ url, collectionName: "chats" }, "collectionName"],
    [{ url, maxMessages: 0 }, "maxMessages"],
    [{ url, tableName: "" }, "tableName"],
    [{ url, tableName: "a\0" }, "tableName"],
    [{ url, tableName: "é".repeat(29) }, "tableName"],
    [{ url, schema: "" }, "schema"],
    [{ url, schema: 7 }, "schema"],
    [{ client: {} }, "client"],
    [{ client: url }, "client"],
  ])("%o is refused, naming %s", (options, name) => {
    expect(refusal(options).message).toContain(name);
  });

  test.each([
    "",
    "localhost:5432",
    "mysql://localhost",
    "postgres:",
    "postgres:///app",
    "postgres://user:hunter/2@localhost",
    "postgres://user:hunter%zz@localhost",
    "postgres://user:hunter2@localhost:99999",
    "postgres://user:hunter2@localhost/app?sslrootcert=/no/such/hunter.pem",
    42,
    null,
  ])("the url %o is refused, saying what it must be and not showing it", (wrong) => {
    const { message, cause } = refusal({ url: wrong });
    expect(message).toMatch(/url .*must read postgres:\/\/\[user\[:password\]@\]host/);
    expect(message).not.toMatch(/hunter|99999/);
    expect(cause).toBeUndefined();
  });

  test("names are quoted, whatever they hold", () => {
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

  test("an own pool gives up in time", () => {
    expect(parseOptions({ url }).table.client).toMatchObject({
      options: { connectionTimeoutMillis: 4_000, query_timeout: 4_000 },
    });
  });
});

test.each(["postgres", "postgresql"])("openStores takes %s://, without I/O", async (scheme) => {
  await using stores = await openStores(`${scheme}://localhost/app`, { maxMessages: 5 });
  expect(stores.settings).toEqual({ backend: "postgres", maxMessages: 5 });
});

test.each([
  ["a URL", { url: "postgres://app:hunter2@db:6543/shop" }],
  ["a pool", { client: new Pool({ connectionString: "postgres://app:hunter2@db:6543/shop" }) }],
  ["a client", { client: new Client("postgres://app:hunter2@db:6543/shop") }],
])("a driver tells where it keeps threads, and no secret: %s", (_, options) => {
  const { table } = parseOptions({ ...options, tableName: "chats" });
  expect(new RecordLogDriver(new PostgresRecordLog(table)).target).toEqual({
    collection: "chats",
    namespace: "shop",
    server: { address: "db", port: 6543 },
  });
});
