import { runFactory } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Pool } from "pg";
import { afterAll } from "vitest";
import { createPostgresStores, type PostgresStoreOptions } from "../src/index.ts";
import { makeSchema } from "./schema.ts";

const server = startServer("postgres");
const made = server.then(({ url }) => makeSchema(url));
afterAll(async () => {
  await (await made)[Symbol.asyncDispose]();
  await (await server).stop();
});

runFactory<PostgresStoreOptions>({
  name: "PostgreSQL",
  create: createPostgresStores,
  secret: "hush",
  outages: {
    "because nothing listens there": [
      () => ({ url: "postgres://me:hush@127.0.0.1:1/app" }),
      "127.0.0.1:1 (ECONNREFUSED)",
    ],
    "because no host has the name": [
      () => ({ url: "postgres://me:hush@nohost.invalid/app" }),
      "nohost.invalid:5432 (E",
    ],
  },
  silent: (port) => ({ url: `postgres://me:hush@127.0.0.1:${port}/app` }),
  proxied: {
    async options(proxy) {
      const { url, schema } = await made;
      return { url: await proxy.forwardUrl(url, 5432), schema };
    },
    async handIn(proxy) {
      const { url, schema } = await made;
      const client = new Pool({ connectionString: await proxy.forwardUrl(url, 5432) });
      return {
        options: { client, schema },
        use: () => client.query("SELECT 1"),
        close: () => client.end(),
      };
    },
  },
});
