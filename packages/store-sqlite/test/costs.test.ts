import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, test } from "vitest";
import { createSqliteStores } from "../src/index.ts";
import { user, users } from "./messages.ts";
import { useScratch } from "./scratch.ts";

const scratch = useScratch();

/** A database that records each executed statement: its first word and its table. */
class Watched extends DatabaseSync {
  readonly ran: string[] = [];
  /** Called before a statement runs. */
  before: (name: string) => void = () => undefined;

  override prepare(sql: string): StatementSync {
    const statement = super.prepare(sql);
    // A statement with subqueries names its own table "t".
    const [, table] = /scrollback_(\w+) t\b/.exec(sql) ?? /scrollback_(\w+)/.exec(sql) ?? [];
    const name = table ? `${sql.split(" ", 1)[0]} ${table}` : sql;
    for (const method of ["run", "get", "all"] as const) {
      const run = statement[method].bind(statement) as (...values: unknown[]) => unknown;
      Object.defineProperty(statement, method, {
        value: (...values: unknown[]) => {
          this.before(name);
          this.ran.push(name);
          return run(...values);
        },
      });
    }
    return statement;
  }

  /** The statements that ran during `work`. */
  async during(work: () => Promise<unknown>): Promise<string[]> {
    this.ran.length = 0;
    await work();
    return [...this.ran];
  }
}

let client: Watched;
beforeEach(() => {
  client = new Watched(scratch.path);
  return () => client.close();
});

/** The statements of an append of one message in the steady state. A further statement slows down every commit: avoid it. */
const APPEND = ["BEGIN IMMEDIATE", "SELECT threads", "INSERT messages", "INSERT commits", "COMMIT"];

const triesOf = (ran: readonly string[]) => ran.filter((name) => name === "BEGIN IMMEDIATE").length;

test("a commit to a locked file tries again every few milliseconds, so that it finds a short time in which it is free", async () => {
  await using stores = createSqliteStores({ client });
  const store = stores.open("a");
  await store.addMessages(users(1));
  const other = new DatabaseSync(scratch.path);
  other.exec("BEGIN IMMEDIATE");
  const ran = await client.during(async () => {
    const commit = store.addMessages(users(1));
    // Less than half a second on a quiet machine.
    for (const end = performance.now() + 3_000; triesOf(client.ran) <= 150 && performance.now() < end; )
      await sleep(5);
    other.exec("COMMIT");
    await commit;
  });
  other.close();
  expect(triesOf(ran)).toBeGreaterThan(150);
});

test("an append runs five statements, plus one for each additional message", async () => {
  await using stores = createSqliteStores({ client, maxMessages: 1_000 });
  const store = stores.open("a");
  await store.addMessages(users(500));
  expect(await client.during(() => store.addMessages(users(1)))).toEqual(APPEND);
  const inserts = Array.from({ length: 20 }, () => "INSERT messages");
  expect(await client.during(() => store.addMessages(users(20)))).toEqual(APPEND.toSpliced(2, 1, ...inserts));
});

test("an append with a caller's operation id looks it up, and a trimming append reads two messages", async () => {
  await using stores = createSqliteStores({ client, maxMessages: 3 });
  const store = stores.open("a");
  await store.addMessages(users(3));
  const given = await client.during(() => store.addMessages([user("b")], { operationId: "given" }));
  const looks = ["SELECT messages", "SELECT messages", "DELETE messages"];
  expect(given).toEqual(APPEND.toSpliced(2, 0, "SELECT commits", ...looks));
  expect(await client.during(() => store.addMessages([user("c")]))).toEqual(APPEND.toSpliced(2, 0, ...looks));
});

test("a trimming append reads no more messages if a thread is without a user message", async () => {
  await using stores = createSqliteStores({ client, maxMessages: 100 });
  const store = stores.open("a");
  const answer = { role: "assistant", content: "a" } as const;
  await store.addMessages(Array.from({ length: 100 }, () => answer));
  await store.addMessages([answer]);
  const ran = await client.during(() => store.addMessages([answer]));
  const looks = ["SELECT messages", "SELECT messages", "DELETE messages"];
  expect(ran).toEqual(APPEND.toSpliced(2, 0, ...looks));
});

test("every 16th commit removes the rows of forgotten commits", async () => {
  await using stores = createSqliteStores({ client });
  const store = stores.open("a");
  await store.addMessages([user("a")]);
  const ran = await client.during(async () => {
    for (let number = 1; number < 32; number++) await store.addMessages([user("a")]);
  });
  expect(ran.filter((name) => name === "DELETE commits")).toHaveLength(2);
});

test("C4 the store's own operation id is looked up from the second attempt", async () => {
  await using stores = createSqliteStores({ client });
  const store = stores.open("a");
  await store.addMessages([user("a")]);
  let busy = 1;
  client.before = (name) => {
    if (name !== "INSERT commits" || busy-- <= 0) return;
    throw Object.assign(new Error("database is locked"), { errcode: 5 });
  };
  const ran = await client.during(() => store.addMessages([user("b")]));
  expect(ran.filter((name) => name === "BEGIN IMMEDIATE")).toHaveLength(2);
  expect(ran.filter((name) => name === "SELECT commits")).toHaveLength(1);
  expect(await store.listMessages()).toEqual([user("a"), user("b")]);
});

test("a deletion of a short thread is one transaction and a checkpoint, and a page of a listing one statement and the metadata", async () => {
  await using stores = createSqliteStores({ client });
  for (const id of ["a", "b", "c"]) await stores.open(id).addMessages(users(20));
  expect(await client.during(() => stores.listThreads({ limit: 2 }))).toEqual([
    "BEGIN",
    "SELECT threads",
    "SELECT metadata",
    "SELECT metadata",
    "COMMIT",
  ]);
  const ran = await client.during(() => stores.deleteThread("a"));
  expect(ran.filter((name) => name === "DELETE messages")).toHaveLength(1);
  expect(ran.slice(ran.indexOf("COMMIT"))).toEqual([
    "COMMIT",
    "BEGIN IMMEDIATE",
    "SELECT threads",
    "COMMIT",
    "PRAGMA wal_checkpoint(TRUNCATE)",
  ]);
});
