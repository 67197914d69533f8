import { runFactory } from "@scrollback/conformance";
import { DocumentDriver } from "@scrollback/documents";
import { openStores } from "@scrollback/store-core";
import { createPool as createCallbackPool } from "mysql2";
import { createPool } from "mysql2/promise";
import { expect, test } from "vitest";
import { createMariadbStores } from "../src/index.ts";
import { MariadbDocuments } from "../src/mariadb-documents.ts";
import { parseOptions } from "../src/options.ts";

const url = "mysql://localhost/app";

runFactory({
  name: "MariaDB",
  create: createMariadbStores,
  secret: "hunter",
  options: {
    url,
    client: () => createPool(url),
    wrong: [
      [{ url, collectionName: "chats" }, "collectionName"],
      [{ url: `${url}?tableName=hunter` }, "option tableName; pass tableName to createMariadbStores"],
      [{ url, tableName: "" }, "tableName"],
      [{ url, tableName: "a`b" }, "tableName"],
      [{ url, tableName: "what?" }, "tableName"],
      [{ url, tableName: "a".repeat(51) }, "tableName"],
      [{ client: createCallbackPool(url) }, "mysql2/promise"],
    ],
    wrongUrls: [
      "localhost:3306",
      "postgres://localhost/app",
      "mysql:",
      "mysql://localhost",
      "mysql:///app",
      "mysql://user:hunter/2@localhost/app",
      "mysql://user:hunter%zz@localhost/app",
      "mysql://user:hunter2@localhost:99999/app",
      "mysql://user:hunter2@localhost/app?ssl=hunter",
      "mysql://user:hunter2@localhost/app?charset=hunter",
    ],
    urlMustRead: /url .*must read mysql:\/\/\[user\[:password\]@\]host/,
    hidden: ["99999"],
  },
});

test.each(["mysql", "mariadb"])("openStores opens %s:// with the factory as an adapter", async (scheme) => {
  const adapters = { mysql: createMariadbStores, mariadb: createMariadbStores };
  await using stores = await openStores(`${scheme}://localhost/app`, { adapters, maxMessages: 5 });
  expect(stores.settings).toEqual({ backend: "mariadb", maxMessages: 5 });
});

test.each([
  ["a URL", () => ({ url: "mysql://app:hunter2@db:6543/shop" })],
  ["a pool", () => ({ client: createPool("mysql://app:hunter2@db:6543/shop") })],
])("a driver's target has the database and the table, and no secret: %s", (_, options) => {
  const { table } = parseOptions({ ...options(), tableName: "chats" });
  expect(new DocumentDriver(new MariadbDocuments(table)).target).toEqual({
    collection: "chats",
    namespace: "shop",
    server: { address: "db", port: 6543 },
  });
});
