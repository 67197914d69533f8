import { setTimeout } from "node:timers/promises";
import { startServer } from "@scrollback/conformance/servers";
import type { StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { PostgresDriver } from "../src/postgres-driver.ts";
import { user } from "./messages.ts";
import { type SentQuery, watchedDriver } from "./queries.ts";
import { makeSchema, type TestSchema } from "./schema.ts";
import { createVector } from "./vector.ts";

// These figures are also in docs/reference/store-postgres.md: a change of one is a change of both.

const server = startServer("postgres");
let used: TestSchema;
const drivers: PostgresDriver[] = [];

beforeAll(async () => {
  used = await makeSchema((await server).url);
  await createVector(used.url);
});
afterEach(async () => {
  for (const driver of drivers.splice(0)) await driver.close();
});
afterAll(async () => {
  await used[Symbol.asyncDispose]();
  await (await server).stop();
});

/** Stores of a process that knows no thread, and a record of its queries. */
function coldStores(options?: StoreOptions) {
  const { driver, sent } = watchedDriver(used);
  drivers.push(driver);
  return { stores: createStores(driver, options), sent };
}

const hello = [user("Hello")];
const sizeOf = ({ values = [] }: SentQuery) =>
  values.reduce<number>((sum, value) => sum + String(value).length, 0);

describe("a commit", () => {
  test("takes a time that grows with its number of messages, and not with the square of it", async () => {
    const { stores } = coldStores();
    const timeOf = async (count: number) => {
      const messages = Array.from({ length: count }, (_, number) => user(`${number}`));
      const start = performance.now();
      await stores.open().addMessages(messages);
      return performance.now() - start;
    };
    const few = Math.min(await timeOf(2_000), await timeOf(2_000), await timeOf(2_000));
    expect(await timeOf(40_000)).toBeLessThan(60 * few);
  });

  test.each([
    ["", {}, 150],
    [" with trimming and expiry", { maxMessages: 20, ttlMs: 1e8 }, 155],
  ])("sends its texts and a bounded number of bytes more%s", async (_, options, bytes) => {
    const { stores, sent } = coldStores(options);
    const store = stores.open();
    for (let message = 0; message < 100; message++) await store.addMessages(hello);
    sent.splice(0);
    await store.addMessages(hello);
    const texts = String(sent[0]?.values?.[6] ?? "");
    expect(texts).toContain("Hello");
    // The thread's id has 36 bytes.
    const rest = sizeOf(sent[0] as SentQuery) - texts.length;
    expect(rest).toBeLessThanOrEqual(bytes);
    expect(rest).toBeGreaterThan(bytes - 60);
  });
});

test("a thread of 1,024 messages takes at most 1.3 times the bytes of a plain table with the same texts", async () => {
  const own = await makeSchema((await server).url);
  onTestFinished(() => own[Symbol.asyncDispose]());
  const { pool, quoted } = own;
  const { driver } = watchedDriver(own);
  drivers.push(driver);
  const store = createStores(driver).open(crypto.randomUUID());
  await pool.query(`CREATE TABLE ${quoted}.plain
    (thread text, sequence bigint, created_at timestamptz, role text, text text, PRIMARY KEY (thread, sequence))`);
  const append = async (numbers: readonly number[]) => {
    for (const number of numbers) {
      const message = user(`Message ${number}. `.repeat(25));
      await store.addMessages([message]);
      await pool.query(`INSERT INTO ${quoted}.plain VALUES ($1, $2, now(), 'user', $3)`, [
        store.threadId,
        number,
        JSON.stringify(message),
      ]);
    }
  };
  const numbers = Array.from({ length: 1_024 }, (_, index) => index);
  await append(numbers.slice(0, -64));
  // So that the operations before are no longer remembered.
  await setTimeout(10_500);
  await append(numbers.slice(-64));
  const bytes = async (tables: readonly string[]) => {
    let sum = 0;
    for (const table of tables) {
      await pool.query(`VACUUM FULL ${quoted}.${table}`);
      const { rows } = await pool.query("SELECT pg_total_relation_size($1::regclass)::int AS bytes", [
        `${quoted}.${table}`,
      ]);
      sum += rows[0].bytes;
    }
    return sum;
  };
  const ratio = (await bytes(["threads", "messages", "operations"])) / (await bytes(["plain"]));
  expect(ratio).toBeGreaterThan(0.8);
  expect(ratio).toBeLessThan(1.3);
});
