import { PGlite } from "@electric-sql/pglite";
import { afterAll, beforeEach, expect, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { users } from "./messages.ts";
import { rejection } from "./rejection.ts";

const client = await PGlite.create();
afterAll(() => client.close());
const stores = createPostgresStores({ client, schema: "s", maxMessages: 5 });
const content = { version: 1, order: 0, value: 1 };

beforeEach(async () => {
  await client.exec("RESET ROLE; DROP SCHEMA IF EXISTS s CASCADE; DROP ROLE IF EXISTS app; CREATE ROLE app");
  await stores.setup();
  await client.exec("GRANT USAGE ON SCHEMA s TO app; GRANT ALL ON ALL TABLES IN SCHEMA s TO app");
  await stores.open("a").addMessages(users(1), { operationId: "first" });
  await stores.index("i").insert({ key: "k", id: "1" }, content);
});

/** Policies that let the role see and write all rows, but not do what `policy` forbids. */
const policies = (table: string, policy: string) =>
  `ALTER TABLE s.${table} ENABLE ROW LEVEL SECURITY; CREATE POLICY every ON s.${table} TO app USING (true);
   CREATE POLICY hold ON s.${table} AS RESTRICTIVE ${policy}`;
const trigger = (table: string, event: string) =>
  `CREATE FUNCTION s.leave_out() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
   CREATE TRIGGER leave_out BEFORE ${event} ON s.${table} FOR EACH ROW EXECUTE FUNCTION s.leave_out()`;

const append = () => stores.open("a").addMessages(users(1));
const repeat = () => stores.open("a").addMessages(users(1), { operationId: "first" });
const begin = () => stores.open("b").addMessages(users(1));
const remove = () => stores.deleteThread("a");
const clear = () => stores.open("a").clear();
const drop = () => stores.open("a").commit({ drop: 1 });
const trim = () => stores.open("a").addMessages(users(8));
const sweep = () => stores.index("i").insert({ key: "k", id: "2" }, content);
const insert = () => stores.index("i").insert({ key: "k", id: "3" }, content);
const removeEntry = () => stores.index("i").remove({ key: "k", id: "1" });
const update = () => stores.index("i").update({ key: "k", id: "1" }, { ...content, version: 2 });

type Case = [
  kind: "policy" | "trigger",
  verb: string,
  table: string,
  call: () => Promise<unknown>,
  before?: string,
];
const expired = "UPDATE s.threads SET expires_at = now();";

test.each<Case>([
  ["policy", "SELECT", "threads", append],
  ["policy", "UPDATE", "threads", append],
  ["policy", "SELECT", "operations", repeat],
  ["policy", "DELETE", "threads", remove],
  ["policy", "DELETE", "messages", remove],
  ["trigger", "INSERT", "threads", begin],
  ["trigger", "UPDATE", "threads", append],
  ["trigger", "DELETE", "threads", remove],
  ["trigger", "INSERT", "operations", append],
  ["trigger", "DELETE", "operations", append, expired],
  [
    "trigger",
    "DELETE",
    "operations",
    append,
    "UPDATE s.threads SET number = 511, watched_until = NULL; UPDATE s.operations SET at = now() - interval '1 h';",
  ],
  ["trigger", "INSERT", "messages", append],
  ["trigger", "DELETE", "messages", remove],
  ["trigger", "DELETE", "messages", clear],
  ["trigger", "DELETE", "messages", drop],
  ["trigger", "DELETE", "messages", trim],
  ["trigger", "DELETE", "messages", append, expired],
  ["trigger", "INSERT", "deletions", remove],
  [
    "trigger",
    "DELETE",
    "deletions",
    remove,
    "INSERT INTO s.deletions VALUES ('', 'x', 'x', '', now() - interval '1 h');",
  ],
  ["trigger", "INSERT", "entries", insert],
  ["trigger", "UPDATE", "entries", update],
  ["trigger", "DELETE", "entries", removeEntry],
  ["trigger", "DELETE", "entries", sweep, "UPDATE s.entries SET expires_at = now();"],
])(
  "a %s that keeps %s of %s from its rows is an error of a call that needs it, and nothing is written",
  async (kind, verb, table, call, before = "") => {
    const rows = async () => {
      await client.exec("RESET ROLE");
      const tables = ["threads", "messages", "operations", "deletions", "entries"];
      return await Promise.all(
        tables.map(async (name) => (await client.query(`SELECT * FROM s.${name}`)).rows),
      );
    };
    await client.exec(before);
    await client.exec(
      kind === "policy" ? policies(table, `FOR ${verb} TO app USING (false)`) : trigger(table, verb),
    );
    const stored = await rows();
    if (kind === "policy") await client.exec("SET ROLE app");
    expect(await rejection(call())).toMatchObject({
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringContaining(`a policy or a trigger of the table ${table} hides`),
    });
    expect(await rows()).toEqual(stored);
  },
);

test.each(["threads", "messages", "operations", "entries"])(
  "a sweep fails, and sweeps nothing, if a trigger keeps its rows of %s",
  async (table) => {
    await client.exec(`UPDATE s.threads SET expires_at = now(); UPDATE s.entries SET expires_at = now();
      ${trigger(table, "DELETE")}`);
    await expect(client.query("SELECT s.sweep_v1()")).rejects.toMatchObject({ code: "SB001", table });
    await client.exec(`DROP TRIGGER leave_out ON s.${table}`);
    expect((await client.query("SELECT s.sweep_v1()::int AS swept")).rows).toEqual([{ swept: 2 }]);
  },
);

test("a damaged thread, with fewer or more messages than its row counts, is still trimmed, dropped from and deleted", async () => {
  const count = async () => (await client.query("SELECT FROM s.messages")).rows.length;
  await stores.open("a").addMessages(users(4));
  await client.exec("DELETE FROM s.messages WHERE sequence IN (1, 3, 5)");
  await trim();
  await stores.open("a").commit({ drop: 1 });
  expect(await count()).toBe(4);
  await client.exec("DELETE FROM s.messages WHERE sequence > 10");
  await remove();
  expect(await count()).toBe(0);
  await append();
  await client.exec("INSERT INTO s.messages SELECT tenant, life, 9, kind, created_at, text FROM s.messages");
  await remove();
  expect(await count()).toBe(0);
});

test("policies that hide other threads let all calls work", async () => {
  await client.exec(`${policies("threads", "TO app USING (id <> 'other')")}; SET ROLE app`);
  await append();
  await repeat();
  await begin();
  await remove();
  expect(await stores.open("a").listMessages()).toEqual([]);
});
