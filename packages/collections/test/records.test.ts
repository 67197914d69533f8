import { createMemoryStores } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { envelope, Records, valueOf as valueIn } from "../src/index.ts";
import { isListed } from "../src/lists/any-thread.ts";

const MIB = 1_024 ** 2;

describe("records", () => {
  test("are read by their keys as they were set", async () => {
    const records = new Records({ stores: createMemoryStores(), prefix: "r" });
    const value = {
      at: new Date(5),
      map: new Map([["a", 1n]]),
      bytes: new Uint8Array([1, 2]),
      gone: undefined,
    };
    await records.set(["a:b", "c"], value);
    await records.set(["a", "b:c"], null);
    expect((await records.get(["a:b", "c"]))?.value).toEqual(value);
    expect(await records.get(["a", "b:c"])).toMatchObject({ value: null });
    expect(await records.get(["a", "b", "c"])).toBeUndefined();
  });

  test("are written by compare-and-set: one of two writers wins, and null means a missing record", async () => {
    const records = new Records<number>({ stores: createMemoryStores(), prefix: "r" });
    const first = await records.set(["k"], 1, { expectedRevision: null });
    await expect(records.set(["k"], 2, { expectedRevision: null })).rejects.toMatchObject({
      code: "CONFLICT",
    });
    const outcomes = await Promise.allSettled(
      [10, 20, 30].map((value) => records.set(["k"], value, { expectedRevision: first })),
    );
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const found = await records.get(["k"]);
    expect([10, 20, 30]).toContain(found?.value);
    expect(found?.revision).not.toBe(first);
  });

  test("a repeated call is a no-op that returns the first revision", async () => {
    const records = new Records<number>({ stores: createMemoryStores(), prefix: "r" });
    const first = await records.set(["k"], 1, { operationId: "o" });
    expect(await records.set(["k"], 1, { operationId: "o" })).toBe(first);
    await expect(records.set(["k"], 2, { operationId: "o" })).rejects.toMatchObject({ code: "CONFLICT" });
  });

  test("store values larger than a message, and smaller ones again", async () => {
    const records = new Records<unknown>({ stores: createMemoryStores(), prefix: "r" });
    // Each character has two code units, so a careless split would cut one in the middle.
    const text = `x${"\u{1F642}".repeat(5 * MIB)}`;
    await records.set(["k"], { text, at: new Date(1) });
    const found = (await records.get(["k"]))?.value as { text: string; at: Date };
    expect(found.at).toEqual(new Date(1));
    expect(found.text === text).toBe(true);
    await records.set(["k"], "small");
    expect((await records.get(["k"]))?.value).toBe("small");
    await expect(records.set(["k"], "x".repeat(65 * MIB))).rejects.toMatchObject({ code: "TOO_LARGE" });
    expect((await records.get(["k"]))?.value).toBe("small");
  });
});

test("records are deleted, also by compare-and-set, and can be created again", async () => {
  const records = new Records<number>({ stores: createMemoryStores(), prefix: "r" });
  const first = await records.set(["k"], 1);
  const second = await records.set(["k"], 2);
  await expect(records.delete(["k"], { expectedRevision: first })).rejects.toMatchObject({
    code: "CONFLICT",
  });
  await records.delete(["k"], { expectedRevision: second });
  expect(await records.get(["k"])).toBeUndefined();
  await records.delete(["k"]);
  await records.set(["k"], 3, { expectedRevision: null });
  expect((await records.get(["k"]))?.value).toBe(3);
});

test("invalid input is refused before any I/O", async () => {
  const stores = createMemoryStores();
  const make = (options: object) => () => new Records(options as never);
  expect(make({ stores: createMemoryStores({ maxMessages: 9 }), prefix: "r" })).toThrow(/maxMessages/);
  expect(make({ stores: {}, prefix: "r" })).toThrow(/stores/);
  expect(make({ stores })).toThrow(/prefix/);
  expect(make({ stores, prefix: "r", more: 1 })).toThrow(/unknown option "more"/);
  const records = new Records({ stores, prefix: "r" });
  // The stores are closed: a request to them would fail with CLOSED.
  await stores.close();
  const calls = [
    records.get([]),
    records.get([""]),
    records.get("k" as never),
    records.get(["x".repeat(1_025)]),
    records.get(["k"], { limit: 1 } as never),
    records.set(["k"], 1, { expectedRevision: 5 as never }),
    records.set(["k"], 1, { operationId: "" }),
    records.delete(["k"], { expectedRevision: null as never }),
  ];
  for (const call of calls) await expect(call).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  const open = new Records({ stores: createMemoryStores(), prefix: "r" });
  await expect(open.set(["k"], () => 1)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
});

test("keys of any length and with any characters have separate threads", () => {
  const records = new Records({ stores: createMemoryStores(), prefix: "r" });
  const long = "x".repeat(250);
  const keys = [["a", "b"], ["a:b"], ["a#b"], ["ä"], [long], [long, "x"], Array(9).fill("y".repeat(110))];
  const threads = keys.map((key) => records.threadId(key));
  expect(new Set(threads).size).toBe(keys.length);
  for (const threadId of threads) expect(Buffer.byteLength(threadId)).toBeLessThanOrEqual(1_024);
});

test("an envelope carries any value, and other messages are not envelopes", async () => {
  const store = createMemoryStores().open();
  const value = { map: new Map([[1, new Date(2)]]), none: undefined };
  await store.addMessages([envelope("tool", value), envelope("user", undefined, "id-1")]);
  const [first, second] = await store.listMessages();
  expect(first && valueIn(first)).toEqual(value);
  expect(second).toMatchObject({ id: "id-1", role: "user", content: "" });
  expect(second && valueIn(second)).toBeUndefined();
  for (const message of [
    { role: "user", content: "" },
    { role: "user", content: "x", metadata: 1 },
  ] as const)
    expect(() => valueIn(message)).toThrow(expect.objectContaining({ code: "CORRUPT" }));
});

test("a record says where it is listed until it is set without that", async () => {
  const stores = createMemoryStores();
  const records = new Records({ stores, prefix: "r" });
  const listed = { key: "k", order: 1, in: { index: "id" } };
  for (const value of [1, "x".repeat(17 * 1_024 ** 2)]) {
    await records.set(["a"], value, { listed });
    expect(await records.get(["a"])).toMatchObject({ value, listed });
    // So that programs that know no records find it.
    expect(isListed((await stores.open(records.threadId(["a"])).read({ limit: 0 })).metadata)).toBe(true);
  }
  await records.set(["a"], 2);
  expect(await records.get(["a"])).not.toHaveProperty("listed");
  await expect(records.set(["a"], 2, { listed: 1 as never })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});
