import { sharedServer } from "@scrollback/conformance/servers";
import type { StoreFactory, StoreOptions } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createPostgresStores } from "../src/index.ts";
import { connect } from "./client.ts";
import { user, users } from "./messages.ts";
import { rejection } from "./rejection.ts";
import { makeSchema, type TestSchema } from "./schema.ts";

let used: TestSchema;
beforeAll(async () => {
  used = await makeSchema((await sharedServer("postgres")).url);
});
afterAll(() => used[Symbol.asyncDispose]());

/** Factories with a connection pool each, which are connected. */
async function factories(count: number, options?: StoreOptions): Promise<StoreFactory[]> {
  const all = Array.from({ length: count }, () => createStores(connect(used), options));
  onTestFinished(async () => {
    for (const stores of all) await stores.close();
  });
  await Promise.all(all.map((stores) => stores.open("any").listMessages()));
  return all;
}

/** Locks the rows of threads until `release` is called. */
async function lock(...threadIds: string[]): Promise<() => Promise<void>> {
  const holder = await used.pool.connect();
  await holder.query("BEGIN");
  await holder.query(`SELECT FROM ${used.quoted}.threads WHERE id = ANY ($1) FOR UPDATE`, [threadIds]);
  let isHeld = true;
  const release = async () => {
    if (!isHeld) return;
    isHeld = false;
    await holder.query("ROLLBACK");
    holder.release();
  };
  onTestFinished(release);
  return release;
}

/** Waits until so many connections wait for the lock of a row. */
async function waitForWaiters(count: number): Promise<void> {
  await expect
    .poll(
      async () => {
        const { rows } = await used.pool.query(
          "SELECT count(*)::int AS count FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%' || $1 || '%'",
          [used.quoted],
        );
        return rows[0].count;
      },
      { interval: 20 },
    )
    .toBe(count);
}

describe.each(["a new thread", "a thread of others", "a locked thread"])("8 writers of %s", (kind) => {
  /** A thread of the kind, and what lets the writers go on when all of them wait for it. */
  async function prepared(): Promise<{ threadId: string; before: number; go: () => Promise<void> }> {
    const threadId = crypto.randomUUID();
    if (kind === "a new thread") return { threadId, before: 0, go: async () => {} };
    const [stores] = await factories(1);
    await stores?.open(threadId).addMessages(users(3));
    if (kind === "a thread of others") return { threadId, before: 3, go: async () => {} };
    const release = await lock(threadId);
    const go = async () => {
      await waitForWaiters(8);
      await release();
    };
    return { threadId, before: 3, go };
  }

  test("with one operation id commit once, and all are told the same revision", async () => {
    const all = await factories(8);
    const { threadId, before, go } = await prepared();
    const writing = all.map((stores) =>
      stores.open(threadId).addMessages([user("once")], { operationId: "the same" }),
    );
    await go();
    const [revision, ...others] = await Promise.all(writing);
    expect(revision).toMatch(/\./);
    expect(others).toEqual(Array(7).fill(revision));
    const messages = (await all[0]?.open(threadId).listMessages()) ?? [];
    expect(messages.slice(before)).toEqual([user("once")]);
  });

  test("that expect the revision they have seen: one succeeds", async () => {
    const all = await factories(8);
    const { threadId, before, go } = await prepared();
    const { revision } = (await all[0]?.open(threadId).read()) ?? expect.unreachable();
    const writing = all.map((stores) =>
      stores
        .open(threadId)
        .addMessages([user("mine")], { expectedRevision: revision })
        .catch(({ code }) => code),
    );
    await go();
    const results = await Promise.all(writing);
    expect(results.filter((result) => result === "CONFLICT")).toHaveLength(7);
    expect(await all[0]?.open(threadId).listMessages()).toHaveLength(before + 1);
  });
});

test("a lock held for longer than 3 s gives a retryable UNAVAILABLE, and nothing is lost or made twice", async () => {
  const [stores] = await factories(1);
  const [store, kept] = [stores?.open(), stores?.open()];
  if (!stores || !store || !kept) return expect.unreachable();
  for (const each of [store, kept]) await each.addMessages(users(1));
  const release = await lock(store.threadId, kept.threadId);
  const calls = [
    store.addMessages([user("late")], { operationId: "late" }),
    // One call a thread: a second one would wait for the first one's place in the queue, and get no reply in time.
    stores.deleteThread(kept.threadId),
  ];
  for (const error of await Promise.all(calls.map(rejection))) {
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, cause: { code: "55P03" } });
    expect(error.message).toContain("another transaction holds the thread");
  }
  // Reads wait for no lock.
  for (const each of [store, kept]) expect(await each.listMessages()).toEqual(users(1));
  await release();
  for (let attempt = 0; attempt < 2; attempt++)
    await store.addMessages([user("late")], { operationId: "late" });
  expect(await store.listMessages()).toEqual([...users(1), user("late")]);
  expect(await kept.listMessages()).toEqual(users(1));
});

test("a first request that waited while its repetition was committed, and the thread deleted, commits nothing", async () => {
  const [stores] = await factories(1);
  const threadId = crypto.randomUUID();
  const append = (of: StoreFactory) => of.open(threadId).addMessages(users(1), { operationId: "first" });
  const client = new Client(used.url);
  await client.connect();
  onTestFinished(() => client.end());
  const repeating = createPostgresStores({ client, schema: used.schema });
  await client.query("BEGIN");
  await append(repeating);
  await repeating.deleteThread(threadId);
  const late = append(stores as StoreFactory);
  await waitForWaiters(1);
  await client.query("COMMIT");
  await late;
  expect((await repeating.open(threadId).read()).revision).toBeNull();
});
