import { runFactory } from "@scrollback/conformance";
import { openStores } from "@scrollback/store-core";
import { Client, Pool } from "pg";
import { describe, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { parseOptions } from "../src/options.ts";
import { PostgresDriver } from "../src/postgres-driver.ts";
import { quote } from "../src/text.ts";

const url = "postgres://localhost/app";

runFactory({
  name: "PostgreSQL",
  create: createPostgresStores,
  secret: "hunter",
  options: {
    url,
    client: () => new Pool(),
    wrong: [
      [{ url, collectionName: "chats" }, "collectionName"],
      [{ url, tableName: "chats" }, "tableName"],
      [{ url: `${url}?schema=hunter` }, "option schema; pass schema to createPostgresStores beside url"],
      [{ url: `${url}?sslmode=disable&Schema=hunter` }, "option schema"],
      [{ url, schema: "" }, "schema"],
      [{ url, schema: "a\0" }, "schema"],
      [{ url, schema: "a$$b" }, "schema"],
      [{ url, schema: "\ud800" }, "schema"],
      [{ url, schema: "é".repeat(32) }, "schema"],
      [{ url, schema: 7 }, "schema"],
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

test("names with any characters are quoted", () => {
  expect(quote('a"b')).toBe('"a""b"');
  expect(quote("my schema; DROP")).toBe('"my schema; DROP"');
});

describe("what the options name", () => {
  test("is the schema scrollback, unless they name another one of up to 63 bytes", () => {
    expect(parseOptions({ url }).used).toMatchObject({ schema: "scrollback", owned: true });
    const client = new Pool({ connectionString: url });
    const schema = "é".repeat(31);
    expect(parseOptions({ client, schema }).used).toEqual({ client, schema, owned: false });
  });

  test.each(["a\nDROP TABLE b; --", "a\rb", "a\u2028b", "a\0b", "a$$b", "pg_own", "", "é".repeat(32)])(
    "is no schema whose name would be SQL in a comment, or that the server refuses: %j",
    (schema) => {
      expect(() => parseOptions({ url, schema })).toThrow(/createPostgresStores: schema must be a name/);
    },
  );

  test("the factory's own pool connects within 4 seconds", () => {
    expect(parseOptions({ url }).used.client).toMatchObject({ options: { connectionTimeoutMillis: 4_000 } });
  });
});

test("openStores refuses a URL with an option of the factory", async () => {
  await expect(openStores("postgres://me:hunter2@localhost/app?schema=x&sslmode=disable")).rejects.toThrow(
    "createPostgresStores: url must not contain the option schema; pass schema to createPostgresStores beside url",
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
  expect(parseOptions({ url: `${url}?${parameters}` }).used).toMatchObject({
    schema: "scrollback",
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
])("a driver's target has the database, and no secret: %s", (_, options) => {
  expect(new PostgresDriver(parseOptions(options).used).target).toEqual({
    collection: "messages",
    namespace: "shop",
    server: { address: "db", port: 6543 },
  });
});
