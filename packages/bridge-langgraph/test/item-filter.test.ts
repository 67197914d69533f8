import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { ScrollbackStore } from "../src/store/store.ts";

const list = ["x", 1];
const object = { inner: [1] };
const date = new Date(5);
// Each also occurs as an operand: the same object, because LangGraph's store compares objects by reference.
const values = [undefined, null, true, "", "5", "x", 0, -0, 5, 6, Number.NaN, list, object, [], {}, date];
const names = ["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$in", "$nin"];

const filters: readonly unknown[] = [
  ...values,
  ...names.flatMap((name) => values.map((operand) => ({ [name]: operand }))),
  ...["$in", "$nin"].flatMap((name) => values.map((operand) => ({ [name]: [operand, "other"] }))),
  { $gte: 5, $lt: 6 },
  { $ne: 5, $nin: ["x"] },
  { $gt: 1, other: 2 },
  { $regex: "x" },
  { other: {} },
];

async function foundBy(store: InMemoryStore | ScrollbackStore) {
  for (const [index, field] of values.entries()) await store.put(["n"], `${10 + index}`, { field });
  await store.put(["n"], "absent", { other: 1 });
  return await Promise.all(
    filters.map(async (field) => {
      const found = await store.search(["n"], { filter: { field }, limit: 100 });
      return { field, keys: found.map(({ key }) => key).sort() };
    }),
  );
}

test("a filter matches the items that it matches in LangGraph's own store", async () => {
  const own = await foundBy(new InMemoryStore());
  const ours = await foundBy(new ScrollbackStore({ stores: createMemoryStores() }));
  expect(ours).toEqual(own);
  expect(ours.find(({ field }) => field === values.at(-2))?.keys).toHaveLength(values.length + 1);
});

test("an object in a filter also matches an equal one", async () => {
  const store = new ScrollbackStore({ stores: createMemoryStores() });
  await store.put(["n"], "a", { tags: ["x", { n: 1 }] });
  const keys = async (tags: unknown) =>
    (await store.search(["n"], { filter: { tags } })).map(({ key }) => key);
  expect(await keys(["x", { n: 1 }])).toEqual(["a"]);
  expect(await keys({ $in: [["x", { n: 1 }]] })).toEqual(["a"]);
  expect(await keys({ $ne: ["x", { n: 1 }] })).toEqual([]);
  expect(await keys(["x", { n: 2 }])).toEqual([]);
});
