import { runFactory } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { createPool } from "mysql2/promise";
import { afterAll } from "vitest";
import { createMariadbStores, type MariadbStoreOptions } from "../src/index.ts";
import { makeTable } from "./table.ts";

const table = sharedServer("mariadb").then(({ url }) => makeTable(url));
afterAll(async () => (await table)[Symbol.asyncDispose]());

runFactory<MariadbStoreOptions>({
  name: "MariaDB",
  create: createMariadbStores,
  secret: "hush",
  outages: {
    "because nothing listens there": [
      () => ({ url: "mysql://me:hush@127.0.0.1:1/app" }),
      "127.0.0.1:1 (ECONNREFUSED)",
    ],
    "because no host has the name": [
      () => ({ url: "mysql://me:hush@nohost.invalid/app" }),
      "nohost.invalid:3306 (E",
    ],
  },
  silent: (port) => ({ url: `mysql://me:hush@127.0.0.1:${port}/app` }),
  proxied: {
    async options(proxy) {
      const { url, tableName } = await table;
      return { url: await proxy.forwardUrl(url, 3306), tableName };
    },
    async handIn(proxy) {
      const { url, tableName } = await table;
      const client = createPool(await proxy.forwardUrl(url, 3306));
      return {
        options: { client, tableName },
        use: () => client.query("SELECT 1"),
        close: () => client.end(),
      };
    },
  },
});
