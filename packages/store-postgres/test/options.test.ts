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
      [
        { url: `${url}?tableName=hunter` },
        "option tableName; pass tableName to createPostgresStores beside url",
      ],
      [{ url: `${url}?sslmode=disable&schema=hunter` }, "option schema"],
      [{ url: `${url}?tablename=hunter` }, "option tableName"],
      [{ url, tableName: "" }, "tableName"],
      [{ url, tableName: "a\0" }, "tableName"],
      [{ url, tableName: "é".repeat(25) }, "tableName"],
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

test("openStores refuses a URL with an option of the factory", async () => {
  await expect(openStores("postgres://me:hunter2@localhost/app?tableName=x&schema=y")).rejects.toThrow(
    "createPostgresStores: url must not contain the option tableName; pass tableName to createPostgresStores beside url",
  );
});

test.each([
  "sslmode=verify-full&uselibpqcompat=true&sslnegotiation=direct",
  "host=/var/run/postgresql&port=5433&user=app&password=hunter2",
  "application_name=app&fallback_application_name=app&client_encoding=utf8&options=-c%20work_mem%3D8MB",
  "statement_timeout=1000&lock_timeout=1000&query_timeout=1000&idle_in_transaction_session_timeout=1000",
  "sslmode=verify-full&channel_binding=require&connect_timeout=10&target_session_attrs=read-write",
  "pgbouncer=true&connection_limit=1&pool_timeout=10",
])("a URL with parameters of pg, libpq or a hosting provider is accepted: %s", (parameters) => {
  expect(parseOptions({ url: `${url}?${parameters}` }).table).toMatchObject({
    tableName: "scrollback_messages",
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
