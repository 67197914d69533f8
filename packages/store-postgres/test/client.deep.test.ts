import { inspect } from "node:util";
import { runFactory } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { Client, Pool, type PoolConfig, types } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { setupScript } from "../src/migrations.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

const server = startServer("postgres");
let used: TestSchema;
beforeAll(async () => {
  used = await makeSchema((await server).url);
});
afterAll(async () => {
  await used[Symbol.asyncDispose]();
  await (await server).stop();
});

function ownPool(options: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: used.url, ...options });
  onTestFinished(async () => {
    if (!pool.ended) await pool.end();
  });
  return pool;
}

const handIn = (options: PoolConfig) => async () => {
  const client = new Pool({ connectionString: used.url, ...options });
  return {
    options: { client, schema: used.schema, ttlMs: 1e8 },
    use: () => client.query("SELECT 1"),
    close: () => client.end(),
  };
};

/** A class of connections of which the first one is lost together with the end of its login. */
function unluckyClient(): PoolConfig["Client"] {
  let isFirst = true;
  return class extends Client {
    constructor(config?: PoolConfig) {
      super(config);
      const connect = (told: (error: Error | null) => void) =>
        super.connect((error: Error | null) => {
          told(error);
          if (!isFirst) return;
          isFirst = false;
          this.connection.stream.destroy();
          this.emit("error", new Error("terminating connection due to administrator command"));
        });
      Object.assign(this, { connect });
    }
  };
}

describe("a caller's client", () => {
  runFactory({
    name: "PostgreSQL",
    create: createPostgresStores,
    secret: "hush",
    handIn: handIn({}),
    unprepared: async () => {
      const { url, schema, ...empty } = await makeSchema(used.url, () => "");
      onTestFinished(() => empty[Symbol.asyncDispose]());
      return { url, schema };
    },
    otherSettings: {
      "backslashes that escape": handIn({ options: "-c standard_conforming_strings=off" }),
      "another encoding": handIn({ options: "-c client_encoding=LATIN1" }),
      "comparisons with NULL by =": handIn({ options: "-c transform_null_equals=on" }),
      "serializable transactions": handIn({ options: "-c default_transaction_isolation=serializable" }),
      "times in another form": handIn({ options: "-c DateStyle=German -c TimeZone=Asia/Kolkata" }),
      "integers as BigInt": handIn({
        types: {
          getTypeParser: (oid: number, format?: "text" | "binary") =>
            oid === types.builtins.INT8 ? BigInt : types.getTypeParser(oid, format as "text"),
        } as typeof types,
      }),
    },
  });

  test("can lose its connections without ending the process", async () => {
    await using stores = createPostgresStores({ client: ownPool(), schema: used.schema });
    const store = stores.open();
    await store.addMessages(users(1));
    await used.pool.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND state = 'idle'",
    );
    await store.addMessages(users(1));
  });

  test("can lose a connection as soon as it was opened, and in its pool", async () => {
    const client = ownPool({ Client: unluckyClient() } as PoolConfig);
    await using stores = createPostgresStores({ client, schema: used.schema });
    await stores.open().addMessages(users(1));
    expect(client.totalCount).toBe(1);
  });

  test("can be one connection, on which requests take turns", async () => {
    const client = new Client(used.url);
    await client.connect();
    await using stores = createPostgresStores({ client, schema: used.schema });
    const all = Array.from({ length: 10 }, () => stores.open());
    await Promise.all(all.map((store) => store.addMessages(users(2))));
    for (const store of all) expect(await store.listMessages()).toEqual(users(2));
    await client.end();
    const error = await rejection(stores.open().listMessages());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("use a Pool");
  });

  test("that its owner has ended stays ended", async () => {
    const client = ownPool();
    await using stores = createPostgresStores({ client, schema: used.schema });
    await stores.open().addMessages(users(1));
    await client.end();
    const error = await rejection(stores.open().addMessages(users(1)));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("client");
  });

  test("can have another isolation level, whose conflicts are retried", async () => {
    const client = ownPool({ options: "-c default_transaction_isolation=serializable" });
    await using stores = createPostgresStores({ client, schema: used.schema, maxMessages: 9 });
    const store = stores.open();
    await Promise.all(Array.from({ length: 40 }, (_, index) => store.addMessages([user(`${index}`)])));
    expect(await store.listMessages()).toHaveLength(9);
  });
});

describe("TLS and logins", () => {
  test("a server with TLS and a password, and clients that trust it or not", async () => {
    await using own = await startServer("postgres", { tls: true, password: "s e/cret" });
    const ssl = { ca: own.tls?.ca ?? "" };
    const client = new Pool({ host: own.host, port: own.port, user: "postgres", password: "s e/cret", ssl });
    await using stores = createPostgresStores({ client });
    await stores.setup();
    await stores.open("a").addMessages(users(1));
    expect(await stores.open("a").listMessages()).toEqual(users(1));

    await using distrustful = createPostgresStores({ url: own.url });
    const untrusted = await rejection(distrustful.open("a").listMessages());
    expect(untrusted).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(untrusted.message).toContain("certificate");

    for (const password of ["hunter2", ""]) {
      const wrong = new Pool({ host: own.host, port: own.port, user: "app-user", password, ssl });
      await using refused = createPostgresStores({ client: wrong });
      const start = performance.now();
      for (const call of [() => refused.open().listMessages(), () => refused.setup()]) {
        const error = await rejection(call());
        expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
        expect(error.message).toContain("login");
        expect(inspect(error, { depth: 20, showHidden: true })).not.toContain("hunter2");
      }
      expect(performance.now() - start).toBeLessThan(4_000);
      await wrong.end();
    }
    await client.end();
  });
});

test("a text that violates a constraint is in no error", async () => {
  await using own = await makeSchema(used.url, (schema) =>
    setupScript(schema).replace("text text NOT NULL", "text text NOT NULL CHECK (text <> text)"),
  );
  await using stores = createPostgresStores({ url: own.url, schema: own.schema });
  const error = await rejection(stores.open().addMessages([user("a private text")]));
  expect(error.code).toBe("UNAVAILABLE");
  expect(inspect(error, { depth: 20, showHidden: true, maxStringLength: null })).not.toContain("private");
});
