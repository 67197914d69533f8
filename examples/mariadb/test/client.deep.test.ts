import { inspect } from "node:util";
import { runFactory } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { createPool, type Pool, type PoolOptions } from "mysql2/promise";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { OpenTransactionError } from "../src/errors.ts";
import { createMariadbStores, type MariadbStoreOptions } from "../src/index.ts";
import { MariadbDocuments } from "../src/mariadb-documents.ts";
import { quoted } from "../src/setup.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeTable, type TestTable } from "./table.ts";

const server = startServer("mariadb", { password: "hush" });
let table: TestTable;
beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
  await (await server).stop();
});

/** A pool with other options, each of whose connections first executes a statement. */
function poolOf(options: PoolOptions = {}, first?: string): Pool {
  const pool = createPool({ uri: table.url, ...options });
  if (first !== undefined)
    pool.pool.on("connection", (connection) => connection.query(first, () => undefined));
  return pool;
}

const handIn =
  (options: PoolOptions = {}, first?: string) =>
  async () => {
    const client = poolOf(options, first);
    return {
      options: { client, tableName: table.tableName, ttlMs: 1e8 },
      use: () => client.query("SELECT 1"),
      close: () => client.end(),
    };
  };

async function changed(change: (url: URL) => void): Promise<MariadbStoreOptions> {
  const url = new URL((await server).url);
  change(url);
  return { url: url.href };
}

runFactory<MariadbStoreOptions>({
  name: "MariaDB",
  create: createMariadbStores,
  secret: "hush",
  handIn: handIn(),
  otherSettings: {
    "another character set": handIn({ charset: "latin1" }),
    "backslashes that are ordinary": handIn({}, "SET sql_mode = 'NO_BACKSLASH_ESCAPES'"),
    "quotes around names": handIn({}, "SET sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'"),
    "integers as texts": handIn({ supportBigNumbers: true, bigNumberStrings: true }),
    "rows as objects within objects": handIn({ nestTables: true }),
    "values as texts": handIn({ typeCast: (field) => field.string() }),
    "named placeholders": handIn({ namedPlaceholders: true }),
    "another format of statements": handIn({ queryFormat: (sql) => `${sql} -- formatted` }),
    "counts of changed rows": handIn({ flags: ["-FOUND_ROWS"] }),
    "committed rows only": handIn({}, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED"),
    "serializable transactions": handIn({}, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
  },
  refusals: {
    "a wrong password": async () => ({
      options: await changed((url) => {
        url.password = "hush2";
      }),
      says: /login/,
    }),
    "a missing database": async () => ({
      options: await changed((url) => {
        url.pathname = "/absent";
      }),
      says: /database does not exist/,
    }),
    "a server without the wanted TLS": async () => ({
      options: await changed((url) => {
        url.searchParams.set("ssl", "{}");
      }),
      says: /TLS/,
    }),
  },
});

describe("a caller's pool", () => {
  test("can lose its connections without ending the process", async () => {
    const client = poolOf();
    onTestFinished(() => client.end());
    await using stores = createMariadbStores({ client, tableName: table.tableName });
    const store = stores.open();
    await store.addMessages(users(1));
    const [rows] = await table.pool.query(
      "SELECT id FROM information_schema.processlist WHERE id <> connection_id()",
    );
    for (const { id } of rows as { id: number }[])
      await table.pool.query(`KILL ${id}`).catch(() => undefined);
    await store.addMessages(users(1));
    expect(await store.listMessages()).toHaveLength(2);
  });

  test("whose connections do not commit by themselves is refused, and nothing counts as written", async () => {
    const client = poolOf({ connectionLimit: 2 }, "SET autocommit = 0");
    onTestFinished(() => client.end());
    await using stores = createMariadbStores({ client, tableName: table.tableName });
    const error = await rejection(stores.open("uncommitted").addMessages(users(1)));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toContain("autocommit");
    await using others = createMariadbStores({ url: table.url, tableName: table.tableName });
    expect(await others.open("uncommitted").listMessages()).toEqual([]);
  });

  test("with a connection in a transaction of others reads what was committed since, also where nothing was", async () => {
    const client = poolOf({ connectionLimit: 1 });
    onTestFinished(() => client.end());
    const leaked = await client.getConnection();
    await leaked.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
    leaked.release();
    await using others = createMariadbStores({ url: table.url, tableName: table.tableName });
    const written = others.open();
    await written.addMessages(users(1));
    await using stores = createMariadbStores({ client, tableName: table.tableName });
    expect(await stores.open(written.threadId).listMessages()).toEqual(users(1));
  });

  test("with a connection in a transaction of others does not count a write as made", async () => {
    const client = poolOf({ connectionLimit: 1 });
    onTestFinished(() => client.end());
    const leaked = await client.getConnection();
    await leaked.query("START TRANSACTION");
    leaked.release();
    const { tableName } = table;
    // The verbs alone, because a store reads first, and repeats a verb that fails.
    const database = new MariadbDocuments({ client, owned: false, tableName });
    onTestFinished(() => database.close());
    const write = () => database.write("in a transaction", [{ id: "page", messages: [] }]);
    await expect(write()).rejects.toThrow(OpenTransactionError);
    await write();
    expect(await table.dump("in a transaction")).toContain("page");
  });

  test("with connections in transactions of others loses nothing", async () => {
    const client = poolOf({ connectionLimit: 3 });
    onTestFinished(() => client.end());
    const leaked = await client.getConnection();
    await leaked.query("START TRANSACTION");
    leaked.release();
    await using stores = createMariadbStores({ client, tableName: table.tableName });
    const all = Array.from({ length: 30 }, () => stores.open());
    await Promise.all(all.map((store) => store.addMessages(users(1))));
    await using others = createMariadbStores({ url: table.url, tableName: table.tableName });
    for (const { threadId } of all) expect(await others.open(threadId).listMessages()).toEqual(users(1));
  });

  test("that its owner has ended stays ended", async () => {
    const client = poolOf();
    await using stores = createMariadbStores({ client, tableName: table.tableName });
    await stores.open().addMessages(users(1));
    await client.end();
    const error = await rejection(stores.open().addMessages(users(1)));
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("pool was ended");
  });
});

test("a server with TLS, and clients that trust it or not", async () => {
  await using own = await startServer("mariadb", { tls: true, password: "s e/cret" });
  const client = createPool({ uri: own.url, ssl: { ca: own.tls?.ca ?? "" } });
  await using stores = createMariadbStores({ client });
  await stores.setup();
  await stores.open("a").addMessages(users(1));
  expect(await stores.open("a").listMessages()).toEqual(users(1));
  await client.end();

  await using distrustful = createMariadbStores({ url: `${own.url}?ssl={}` });
  const error = await rejection(distrustful.open("a").listMessages());
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
  expect(error.message).toContain("certificate");
});

test("a text that violates a constraint is in no error", async () => {
  await using own = await makeTable(table.url);
  await own.pool.query(`ALTER TABLE ${quoted(own.tableName)} ADD CHECK (tail <> tail)`);
  await using stores = createMariadbStores({ url: own.url, tableName: own.tableName });
  const error = await rejection(stores.open().addMessages([user("a private text")]));
  expect(error.code).toBe("UNAVAILABLE");
  const shown = inspect(error, { depth: 20, showHidden: true, maxStringLength: null });
  expect(shown).not.toContain("private");
  expect(shown).not.toContain(Buffer.from("private").toString("hex"));
});
