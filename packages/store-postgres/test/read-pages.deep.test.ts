import { startServer } from "@scrollback/conformance/servers";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { user } from "./messages.ts";
import { watchedDriver } from "./queries.ts";
import { makeSchema } from "./schema.ts";

const server = startServer("postgres");
afterAll(async () => (await server).stop());

const COUNT = 300_000;
const AT_ONCE = 10_000;

/** A digest of a thread of any length that takes one step for each message. */
const extend = (digest: number, number: number) => (Math.imul(digest, 31) + number) | 0;

/** A thread of 300,000 messages whose one writer knows the digest of each revision. */
async function longThread() {
  const schema = await makeSchema((await server).url);
  onTestFinished(() => schema[Symbol.asyncDispose]());
  const writing = createPostgresStores({ url: schema.url, schema: schema.schema });
  onTestFinished(() => writing.close());
  const store = writing.open("long");
  const digests = [0];
  const states = new Map<string | null, { count: number; digest: number | undefined }>();
  let written = 0;
  const change = async (drop: number, append: number) => {
    const numbers = Array.from({ length: append }, () => written++);
    digests.length -= drop;
    for (const number of numbers) digests.push(extend(digests.at(-1) ?? 0, number));
    const state = { count: digests.length - 1, digest: digests.at(-1) };
    states.set(await store.commit({ drop, append: numbers.map((number) => user(`${number}`)) }), state);
  };
  while (written < COUNT) await change(0, AT_ONCE);
  const { driver, sent } = watchedDriver(schema);
  onTestFinished(() => driver.close());
  // Without decoding, which would hold the writer up.
  const request = { threadId: "long", limit: Number.POSITIVE_INFINITY, before: undefined, after: undefined };
  /** Reads while the writer makes changes. @returns the number of requests. */
  const readDuring = async (changes: () => Promise<void>) => {
    let isOver = false;
    const writer = (async () => {
      while (!isOver) await changes();
    })();
    const { revision, entries } = await driver
      .read({ ...request, metadata: false, signal: undefined })
      .finally(() => {
        isOver = true;
      });
    await writer;
    const numbers = entries.map(({ text }) => Number(/"(\d+)"/.exec(text)?.[1]));
    expect({ count: numbers.length, digest: numbers.reduce(extend, 0) }).toEqual(states.get(revision));
    return sent.splice(0).length;
  };
  return { schema, change, readDuring };
}

test("a whole read of 300,000 messages is several replies of at most 4 MiB, and one revision while others write", async () => {
  const { schema, change, readDuring } = await longThread();
  const { rows } = await schema.pool.query(
    `SELECT ceil(sum(octet_length(text) + 100) / (4 * 1024 * 1024.0))::int AS replies FROM ${schema.quoted}.messages`,
  );
  const [{ replies }] = rows;
  expect(replies).toBeGreaterThan(8);
  // Appends, and drops of what is read first, let the read go on.
  expect(await readDuring(() => change(3, 5))).toBe(replies);
  // More than the first reply is dropped and written anew.
  const rewrite = async () => {
    await change(4 * AT_ONCE, 0);
    for (let commit = 0; commit < 4; commit++) await change(0, AT_ONCE);
  };
  for (let read = 0; read < 3; read++) expect(await readDuring(rewrite)).toBeGreaterThan(2);
});
