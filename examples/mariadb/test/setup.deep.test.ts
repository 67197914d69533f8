import { startServer } from "@scrollback/conformance/servers";
import { DocumentDriver, type Head, tokenOf } from "@scrollback/documents";
import { createStores } from "@scrollback/store-core/driver";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createMariadbStores } from "../src/index.ts";
import { entriesOf, headsDefinition, pagesOf, quoted, sweepStatements } from "../src/setup.ts";
import { openDocuments } from "./client.ts";
import { user, users } from "./messages.ts";
import { watchedDocuments } from "./queries.ts";
import { rejection } from "./rejection.ts";
import { makeTable, newTableName, type TestTable } from "./table.ts";

const server = startServer("mariadb");
let table: TestTable;
beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterAll(async () => {
  await table[Symbol.asyncDispose]();
  await (await server).stop();
});

const tablesOf = (tableName: string) => [quoted(tableName), pagesOf(tableName), entriesOf(tableName)];

/** A URL with the credentials of a new user. */
async function newUser(...grants: string[]): Promise<string> {
  const name = `suite_${crypto.randomUUID().slice(0, 8)}`;
  for (const sql of [`CREATE USER ${name}`, ...grants.map((grant) => `GRANT ${grant} TO ${name}`)])
    await table.pool.query(sql);
  onTestFinished(async () => {
    await table.pool.query(`DROP USER ${name}`);
  });
  const url = new URL(table.url);
  url.username = name;
  return url.href;
}

describe("setup", () => {
  test("creates the tables, twice and at once from several processes", async () => {
    const tableName = newTableName();
    const all = Array.from({ length: 6 }, () => createMariadbStores({ url: table.url, tableName }));
    await Promise.all(all.map((stores) => stores.setup()));
    for (const stores of all) {
      await stores.setup();
      await stores.open("a").addMessages(users(1));
      await stores.close();
    }
    await table.pool.query(`DROP TABLE ${tablesOf(tableName).join(", ")}`);
  });

  test("is named by the error of a call to a missing table", async () => {
    await using stores = createMariadbStores({ url: table.url, tableName: newTableName() });
    const error = await rejection(stores.open("a").listMessages());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    expect(error.message).toContain("setup()");
  });

  test("is run by the first call with the option setup", async () => {
    const tableName = newTableName();
    const all = [1, 2, 3].map(() => createMariadbStores({ url: table.url, tableName, setup: true }));
    await Promise.all(all.map((stores, index) => stores.open(`${index}`).addMessages(users(1))));
    expect((await all[0]?.listThreads())?.threads).toHaveLength(3);
    for (const stores of all) await stores.close();
    await table.pool.query(`DROP TABLE ${tablesOf(tableName).join(", ")}`);
  });

  test("needs no right to create if the tables exist, and the stores need only the named privileges", async () => {
    const grants = tablesOf(table.tableName).map((name) => `SELECT, INSERT, UPDATE, DELETE ON ${name}`);
    const url = await newUser(...grants);
    await using stores = createMariadbStores({ url, tableName: table.tableName, maxMessages: 5, ttlMs: 1e8 });
    await stores.setup();
    const store = stores.open("a");
    for (let number = 0; number < 70; number++) await store.addMessages([user("Hello")]);
    await store.clear();
    const index = stores.index("list");
    await index.insert({ key: "a", id: "1" }, { version: 0, order: 0, value: 1 });
    expect(await index.remove({ key: "a", id: "1" })).toBe(true);
  });

  const privileges = ["SELECT", "INSERT", "UPDATE", "DELETE"];
  test.each(privileges)("fails without the privilege %s on one of the tables", async (missing) => {
    for (const lacking of tablesOf(table.tableName)) {
      const grants = tablesOf(table.tableName).map((name) => {
        const granted = privileges.filter((privilege) => name !== lacking || privilege !== missing);
        return `${granted.join(", ")} ON ${name}`;
      });
      const url = await newUser(...grants);
      await using stores = createMariadbStores({ url, tableName: table.tableName });
      const error = await rejection(stores.setup());
      expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
      expect(error.message).toContain("privileges");
    }
  });

  test.each([
    ["other columns", () => "id int"],
    [
      "no primary key",
      () =>
        headsDefinition("any")
          .match(/thread.*?(?=,\n {2}INDEX)/s)?.[0]
          .replace(" PRIMARY KEY", "") ?? "",
    ],
  ])("rejects a table with %s", async (_, columns) => {
    const tableName = newTableName();
    await table.pool.query(`CREATE TABLE ${quoted(tableName)} (${columns()})`);
    await using stores = createMariadbStores({ url: table.url, tableName });
    for (const call of [() => stores.setup(), () => stores.open("a").addMessages(users(1))]) {
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "UNSUPPORTED" });
      expect(error.message).toContain("primary key");
    }
    await table.pool.query(`DROP TABLE ${quoted(tableName)}`);
  });

  test.each([pagesOf, entriesOf])("rejects another table without its primary key: %o", async (nameOf) => {
    await using own = await makeTable(table.url);
    await own.pool.query(`ALTER TABLE ${nameOf(own.tableName)} DROP PRIMARY KEY`);
    await using stores = createMariadbStores({ url: own.url, tableName: own.tableName });
    expect(await rejection(stores.setup())).toMatchObject({ code: "UNSUPPORTED" });
  });

  test("rejects a server that accepts only small requests, and a read-only one", async () => {
    await using small = await startServer("mariadb", { args: ["--max-allowed-packet=4M"] });
    await using stores = createMariadbStores({ url: small.url });
    expect((await rejection(stores.setup())).message).toContain("max_allowed_packet");
    await using replica = await startServer("mariadb");
    const url = new URL(replica.url);
    await using one = await makeTable(replica.url);
    await one.pool.query("CREATE USER reader");
    await one.pool.query("GRANT SELECT, INSERT, UPDATE, DELETE ON app.* TO reader");
    await one.pool.query("SET GLOBAL read_only = 1");
    url.username = "reader";
    await using readers = createMariadbStores({ url: url.href, tableName: one.tableName });
    const error = await rejection(readers.setup());
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
    expect(error.message).toContain("read-only");
    await one.pool.query("SET GLOBAL read_only = 0");
  });
});

test("the statements that delete remove what expired, and nothing else", async () => {
  await using own = await makeTable(table.url);
  const { tableName } = own;
  // In the past, so that it has expired by the server's clock.
  let now = Date.now() - 365 * 24 * 3_600_000;
  const clock = { wall: () => now, monotonic: () => now, sleep: async () => {}, timer: () => () => {} };
  const driver = new DocumentDriver(openDocuments(own), { clock });
  onTestFinished(() => driver.close());
  await createStores(driver, { ttlMs: 3_600_000 }).open("old").addMessages(users(70));
  now = Date.now();
  await createStores(driver, { ttlMs: 3_600_000 }).open("new").addMessages(users(3));
  const index = createStores(driver).index("list");
  await index.insert({ key: "old", id: "1" }, { version: 0, order: 0, value: "old", expiresAt: 5 });
  await index.insert({ key: "new", id: "1" }, { version: 0, order: 0, value: "new" });
  for (const statement of sweepStatements(tableName)) await own.pool.query(statement);
  expect(await own.dump("old")).toBe("");
  expect(await own.dumpIndex("list")).not.toContain("old");
  expect(await createStores(driver).open("new").listMessages()).toEqual(users(3));
  expect(await index.entriesOf("new")).toHaveLength(1);
});

/** What a statement reads and locks, of EXPLAIN. */
async function explain(sql: string): Promise<{ type: string; key: string; Extra: string }[]> {
  const [plan] = await table.pool.query(`EXPLAIN ${sql}`);
  return plan as { type: string; key: string; Extra: string }[];
}

test("each verb is one statement, which an index serves", async () => {
  const [heads, pages, entries] = tablesOf(table.tableName);
  await table.pool.query(
    `INSERT INTO ${heads} SELECT CONCAT('other-', seq), 'i.1', IF(seq % 2, NULL, seq), '{}', '[]' FROM seq_0_to_5000`,
  );
  await table.pool.query(
    `INSERT INTO ${pages} SELECT CONCAT('other-', seq % 500), seq, IF(seq % 2, NULL, seq), '[]' FROM seq_0_to_20000`,
  );
  await table.pool.query(
    `INSERT INTO ${entries} SELECT CONCAT('list', seq % 50), seq, 'i', CONCAT('list', seq % 50), LPAD(HEX(seq), 16, '0'), 0, '', NULL
      FROM seq_1_to_5000`,
  );
  await table.pool.query(`ANALYZE TABLE ${tablesOf(table.tableName).join(", ")}`);
  const { database, sent } = watchedDocuments(table);
  const { index } = database;
  onTestFinished(() => database.close());
  const head: Head = {
    ...{ incarnation: "i", n: 1, first: 1, next: 1, pinned: null, compaction: null, newestCompaction: 0 },
    ...{
      tail: [],
      pages: [],
      pins: [],
      leaving: [],
      operations: new Uint8Array(),
      createdAt: 0,
      updatedAt: 0,
    },
  };
  const place = { index: "list7", key: "57", id: "i", signal: undefined };
  const page = { index: "list7", limit: 30, after: undefined, signal: undefined };
  const expected: [string, () => Promise<unknown>][] = [
    ["PRIMARY", () => database.load("other-1")],
    ["PRIMARY", () => database.swap({ threadId: "other-1", expected: { token: tokenOf(head), head }, head })],
    ["PRIMARY", () => database.read("other-1", ["1", "501"])],
    ["PRIMARY", () => database.raise("other-1", ["1", "501"], 5)],
    ["PRIMARY", () => database.remove("other-1", ["1", "501"])],
    ["PRIMARY", () => database.keys("other-1")],
    ["PRIMARY", () => database.list({ prefix: "other-", limit: 100, after: "other-2" })],
    ["PRIMARY", () => index.updateEntry({ ...place, version: 1, order: 1, value: "" })],
    ["PRIMARY", () => index.removeEntry(place)],
    ["PRIMARY", () => index.entriesOf(place)],
    ["by_order", () => index.listEntries({ ...page, direction: "up" })],
    ["by_order", () => index.listEntries({ ...page, direction: "down" })],
    ["names", () => index.listIndexes({ prefix: "list", limit: 9, cursor: undefined, signal: undefined })],
  ];
  for (const [key, verb] of expected) {
    sent.splice(0);
    await verb();
    expect(sent).toHaveLength(1);
    const [plan] = await explain(sent[0] ?? "");
    expect(plan?.key, sent[0]).toBe(key);
    expect(plan?.type, sent[0]).not.toBe("ALL");
    expect(plan?.Extra, sent[0]).not.toMatch(/filesort/);
  }
});
