import { startServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PostgresRecordLog } from "../src/postgres-log.ts";
import { type SentQuery, takeVerbs, watchedLog } from "./queries.ts";
import { makeTable, type TestTable } from "./table.ts";

const server = startServer("postgres");
let table: TestTable;
let log: PostgresRecordLog;
let sent: SentQuery[];

beforeAll(async () => {
  table = await makeTable((await server).url);
  ({ log, sent } = watchedLog(table));
});
afterAll(async () => {
  await log.close();
  await table[Symbol.asyncDispose]();
  await (await server).stop();
});

/** Approximately the number of a current commit. */
const FIRST = 3_680_000_000_000_000;

const newStream = () => crypto.randomUUID();
const whole = (stream: string) => log.read(stream, Number.POSITIVE_INFINITY, 10_000, false);

/** The location of the current version of each row of a stream. An update writes a new version to another location. */
async function versions(stream: string): Promise<string[]> {
  const { rows } = await table.pool.query(
    `SELECT ctid::text AS place FROM ${table.quoted} WHERE stream = $1 ORDER BY number`,
    [stream],
  );
  return rows.map(({ place }) => place);
}

describe("a log", () => {
  test("sends one request per verb", async () => {
    const stream = newStream();
    takeVerbs(sent);
    for (let at = 1; at <= 9; at++) await log.insert(stream, { number: at, head: "h", texts: ["a", "b"] });
    expect(takeVerbs(sent)).toEqual(Array(9).fill("INSERT"));
    await whole(stream);
    expect(takeVerbs(sent)).toEqual(["SELECT"]);
    await log.amend(stream, [
      { from: 1, to: 4, blank: "all", expiresAt: Date.now() + 1e8 },
      { from: 2, to: 6, blank: { from: 1, to: 2 } },
      { from: 6, to: 10, extend: { to: Date.now() + 1e9, atLeast: Date.now() } },
    ]);
    expect(takeVerbs(sent)).toEqual(["UPDATE"]);
    await log.amend(stream, []);
    expect(takeVerbs(sent)).toEqual([]);
  });

  test("blanks texts at any index, also several ranges of a row, and no missing text", async () => {
    const stream = newStream();
    const rows = [["a", "b", "c", "d"], ["", "x\0\x1e\x1a", ""], [""], []];
    for (const [index, texts] of rows.entries())
      await log.insert(stream, { number: index + 1, head: "h", texts });
    await log.amend(stream, [
      { from: 1, to: 2, blank: { from: 0, to: 1 } },
      { from: 1, to: 2, blank: { from: 2, to: 3 } },
      { from: 2, to: 5, blank: { from: 2, to: 9 } },
    ]);
    expect((await whole(stream)).map(({ texts }) => texts).reverse()).toEqual([
      ["", "b", "", "d"],
      ["", "x\0\x1e\x1a", ""],
      [""],
      [],
    ]);
  });

  test("writes no new version of an unchanged row", async () => {
    const stream = newStream();
    for (let at = 1; at <= 3; at++) await log.insert(stream, { number: at, head: "h", texts: ["a"] });
    const expiry = [{ from: 1, to: 4, blank: "all" as const, expiresAt: 5_000 }];
    await log.amend(stream, expiry);
    const before = await versions(stream);
    await log.amend(stream, expiry);
    await log.amend(stream, [{ from: 1, to: 4, extend: { to: 4_000, atLeast: 1_000 } }]);
    await log.amend(stream, [{ from: 1, to: 4, extend: { to: 9_000, atLeast: 6_000 } }]);
    expect(await versions(stream)).toEqual(before);
    await log.amend(stream, [{ from: 1, to: 4, extend: { to: 9_000, atLeast: 5_000 } }]);
    expect((await whole(stream)).map(({ expiresAt }) => expiresAt)).toEqual([9_000, 9_000, 9_000]);
  });

  test("extends a row twice in one call, in order", async () => {
    const stream = newStream();
    await log.insert(stream, { number: 1, head: "h", texts: [], expiresAt: 5_000 });
    await log.amend(stream, [
      { from: 1, to: 2, extend: { to: 6_000, atLeast: 1_000 } },
      { from: 1, to: 2, extend: { to: null, atLeast: 6_000 } },
    ]);
    expect((await whole(stream))[0]?.expiresAt).toBeUndefined();
  });

  test("amends the same rows from several connections without a deadlock, in any plan", async () => {
    const stream = newStream();
    // One plan finds rows in the order of their numbers, the other in that of their places.
    const logs = ["bitmapscan", "indexscan", "bitmapscan", "indexscan"].map((disabled) => {
      const url = new URL(table.url);
      url.searchParams.set("options", `-c enable_${disabled}=off`);
      return watchedLog({ ...table, url: url.href }).log;
    });
    try {
      for (let first = 1; first < 1_000; first += 64) {
        for (let number = first + 63; number >= first; number--)
          await log.insert(stream, { number, head: "h", texts: ["a"] });
        const amendments = [{ from: first, to: first + 64, blank: "all" as const, expiresAt: 5_000 }];
        await Promise.all(logs.map((one) => one.amend(stream, amendments)));
      }
    } finally {
      for (const one of logs) await one.close();
    }
  });

  test("needs no round trip to prepare a statement", async () => {
    const stream = newStream();
    await log.insert(stream, { number: 1, head: "h", texts: [] });
    takeVerbs(sent);
    await log.insert(stream, { number: 2, head: "h", texts: [] });
    const [{ name } = { name: "" }] = sent;
    expect(name).toMatch(/^scrollback_[0-9a-f]{16}$/);
  });
});

describe("the indexes", () => {
  beforeAll(async () => {
    const others = `INSERT INTO ${table.quoted} SELECT 'other-' || i % 500, CASE WHEN i < 500 THEN 1 ELSE 3600000000000000 + i END,
      '{}', 'text', CASE WHEN i % 2 = 0 THEN 5000000000000 END FROM generate_series(0, 20000) AS i`;
    await table.pool.query(others);
    for (let at = 1; at <= 50; at++)
      await log.insert("explained", { number: FIRST + at, head: "h", texts: ["a"], expiresAt: 5_000 });
    await table.pool.query(`ANALYZE ${table.quoted}`);
  });

  async function explain(text: string, values: unknown[] = []): Promise<string> {
    const { rows } = await table.pool.query({ text: `EXPLAIN ${text}`, values, rowMode: "array" });
    return rows.join("\n");
  }

  test.each<[string, () => Promise<unknown>]>([
    ["an insert", () => log.insert("explained", { number: FIRST + 51, head: "h", texts: [] })],
    ["a read", () => log.read("explained", Number.POSITIVE_INFINITY, 20, false)],
    ["a read of heads", () => log.read("explained", FIRST + 40, 20, true)],
    [
      "an amendment",
      () =>
        log.amend("explained", [
          { from: FIRST + 3, to: FIRST + 9, blank: "all" },
          { from: FIRST + 9, to: FIRST + 40, extend: { to: null, atLeast: 0 } },
        ]),
    ],
  ])("serve %s: no path scans the table", async (_, run) => {
    sent.splice(0);
    await run();
    const [query] = sent;
    const plan = await explain(query?.text ?? "", query?.values);
    expect(plan).not.toContain("Seq Scan");
    expect(plan).toMatch(/_pkey/);
  });

  test("serve an amendment in a table without statistics: it reads only the rows of its ranges", async () => {
    await using fresh = await makeTable((await server).url);
    const { log: freshLog, sent: freshSent } = watchedLog(fresh);
    await fresh.pool.query(`ALTER TABLE ${fresh.quoted} SET (autovacuum_enabled = off)`);
    await fresh.pool.query(
      `INSERT INTO ${fresh.quoted} SELECT 'long', ${FIRST} + i, '{}', 'text' FROM generate_series(1, 5000) AS i`,
    );
    await freshLog.amend("long", [
      { from: FIRST + 100, to: FIRST + 132, blank: "all" },
      { from: FIRST + 4_000, to: FIRST + 4_001, blank: { from: 0, to: 1 } },
    ]);
    const [query] = freshSent;
    const { rows } = await fresh.pool.query({
      text: `EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF) ${query?.text ?? ""}`,
      values: query?.values ?? [],
      rowMode: "array",
    });
    await freshLog.close();
    const plan = rows.join("\n");
    const counts = [...plan.matchAll(/\(actual rows=([\d.]+) loops=(\d+)\)/g)];
    expect(counts.length).toBeGreaterThan(0);
    for (const [line, found, loops] of counts)
      expect(Number(found) * Number(loops), `${line} in\n${plan}`).toBeLessThanOrEqual(2 * 33);
  });

  test("serve the sweep", async () => {
    const expired = await explain(
      `DELETE FROM ${table.quoted} WHERE expires_at < extract(epoch FROM now()) * 1000`,
    );
    expect(expired).toContain("_expiry");
  });

  test.each([
    ["by the index of the roots", "_roots"],
    ["by the primary key, where the table was made without that index", "_pkey"],
  ])("serve a page of streams in one query %s", async (_, index) => {
    if (index === "_pkey") await table.pool.query(`DROP INDEX "${table.tableName}_roots"`);
    const request = { prefix: "other-", limit: 100, after: "other-2" };
    sent.splice(0);
    const { streams } = await log.streams(request);
    expect(streams).toHaveLength(100);
    expect(sent).toHaveLength(1);
    const [query] = sent;
    const { rows } = await table.pool.query({
      text: `EXPLAIN (ANALYZE, BUFFERS OFF, COSTS OFF) ${query?.text ?? ""}`,
      values: query?.values ?? [],
      rowMode: "array",
    });
    const plan = rows.join("\n");
    expect(plan).toContain(index);
    expect(plan).not.toContain("Seq Scan");
    expect(plan, "one step per stream, and one to detect more streams").toContain("loops=101");
  });
});
