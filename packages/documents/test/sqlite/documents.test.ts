import { expect, test } from "vitest";
import { head, newThread, page, smallHead } from "../../src/conformance/documents.ts";
import { runDocumentDatabase } from "../../src/conformance/index.ts";
import { SqliteDocuments } from "../../src/sqlite/index.ts";
import { TestClient } from "./client.ts";

const documentsOn = (client: TestClient) => new SqliteDocuments(client, "test_");

runDocumentDatabase({
  name: "SQLite",
  async createHarness() {
    const client = new TestClient();
    await documentsOn(client).setup();
    return {
      connect: () => documentsOn(client),
      requestCount: () => client.sent.length,
      async sweep() {
        await documentsOn(client).swap({ threadId: newThread(), expected: null, head: smallHead() });
      },
      async damage(threadId) {
        client.database.prepare("UPDATE test_heads SET head = 'damaged' WHERE thread = ?").run(threadId);
      },
      close: async () => client.database.close(),
    };
  },
});

async function setUp() {
  const client = new TestClient();
  const database = documentsOn(client);
  await database.setup();
  const countOf = (table: string) =>
    Number(client.database.prepare(`SELECT count(*) AS count FROM test_${table}`).get()?.count);
  return { client, database, countOf };
}

test("a swap deletes expired heads and pages of any thread, at most 100 of each", async () => {
  const { database, countOf } = await setUp();
  const past = Date.now() - 1;
  for (let count = 0; count < 3; count++)
    await database.swap({ threadId: newThread(), expected: null, head: smallHead({ until: past }) });
  expect(countOf("heads"), "each deletes the one before, and itself").toBe(0);
  const pages = Array.from({ length: 150 }, (_, index) => page(`${index}`, { until: past }));
  await database.write("a", [...pages, page("kept"), page("later", { until: Date.now() + 60_000 })]);
  const swap = () => database.swap({ threadId: newThread(), expected: null, head: smallHead() });
  await swap();
  expect(countOf("pages")).toBe(52);
  await swap();
  expect((await database.keys("a")).sort()).toEqual(["kept", "later"]);
});

test("a write to an index deletes its expired entries", async () => {
  const { database, countOf } = await setUp();
  const put = (id: string, expiresAt?: number) =>
    database.index.insertEntry({
      index: "i",
      key: "k",
      id,
      version: 0,
      order: 0,
      value: "v",
      expiresAt,
      signal: undefined,
    });
  await put("a", Date.now() - 1);
  expect(await put("a", Date.now() - 1), "an expired one is replaced").toBe(true);
  expect(countOf("entries")).toBe(1);
  await database.index.removeEntry({ index: "i", key: "k", id: "none" });
  expect(countOf("entries")).toBe(0);
});

test("a statement has at most 10 values and 1,000 characters, and a batch of pages about 4 MB", async () => {
  const { client, database } = await setUp();
  const ids = Array.from({ length: 500 }, (_, index) => `page-${index}`);
  const text = "x".repeat(50_000);
  const messages = [{ sequence: 1, kind: "u", createdAt: 1, text }] as const;
  await database.write(
    "a",
    ids.map((id) => page(id, { messages })),
  );
  await database.read("a", ids);
  await database.raise("a", ids, 1);
  await database.remove("a", ids);
  await database.swap({ threadId: "a", expected: null, head: head() });
  for (const statements of client.sent) {
    let length = 0;
    for (const { sql, parameters } of statements) {
      expect(sql.length).toBeLessThan(1_000);
      expect(parameters.length).toBeLessThanOrEqual(10);
      length += parameters.reduce<number>((sum, value) => sum + String(value).length, 0);
    }
    expect(length).toBeLessThan(4.5 * 1024 ** 2);
  }
});

test.each([
  ["no such table: test_heads", { code: "UNAVAILABLE", isMissing: true }],
  ["D1_ERROR: table test_heads has no column named token: SQLITE_ERROR", { code: "UNSUPPORTED" }],
  ["string or blob too big: SQLITE_TOOBIG", { code: "TOO_LARGE" }],
  ["database or disk is full: SQLITE_FULL", { code: "UNAVAILABLE", retryable: false }],
  ["attempt to write a readonly database", { code: "UNAVAILABLE", retryable: false }],
  ["database disk image is malformed", { code: "UNAVAILABLE", retryable: false }],
  ["database is locked", { code: "UNAVAILABLE", retryable: true }],
])("the error %s is classified", (message, expected) => {
  const classified = documentsOn(new TestClient()).classifyError(new Error(message));
  expect(classified).toMatchObject(expected);
  expect(classified?.message).toMatch(/^sqlite-documents: /);
});

test("an unknown error is not classified", () => {
  expect(documentsOn(new TestClient()).classifyError(new Error("strange"))).toBeUndefined();
});

test("no value of a request becomes a part of a statement", async () => {
  const { client, database } = await setUp();
  const hostile = "(SELECT 1) + " as never;
  const calls = [
    () => database.list({ prefix: "", limit: hostile, after: undefined }),
    () => database.index.listIndexes({ prefix: "", limit: hostile, signal: undefined } as never),
    () => database.index.listEntries({ index: "a", direction: "up", limit: hostile } as never),
    () => database.raise("a", ["b"], hostile),
  ];
  for (const call of calls) await call().catch(() => undefined);
  expect(client.sent.length).toBeGreaterThan(calls.length);
  expect(JSON.stringify(client.sent.flat().map(({ sql }) => sql))).not.toContain("SELECT 1");
});
