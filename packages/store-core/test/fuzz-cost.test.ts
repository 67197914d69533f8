import { expect, test } from "vitest";
import { createMemoryStores, jsonCodec } from "../src/index.ts";
import { declareStoreCosts, growth, MOST_TIMES, many, SIZES } from "./growth.ts";

const values: Record<string, (size: number) => unknown> = {
  "a list of values that JSON lacks": (size) =>
    many(size, (index) => ({ a: BigInt(index), "b.c": undefined })),
  "an object with many difficult keys": (size) =>
    Object.fromEntries(many(size, (index) => [`k.${index}`, -0])),
  "a map of maps": (size) => new Map(many(size, (index) => [index, new Map([[1n, new Date(index)]])])),
  "a set of lists": (size) => new Set(many(size, (index) => [index, Number.NaN])),
  "a long text of escapes": (size) => '\\"\ud800\n'.repeat(size * 100),
  "long bytes": (size) => new Uint8Array(size * 400),
};

test.each(Object.entries(values))("C8 the cost of %s grows linearly with its length", async (_, make) => {
  const both = async (size: number) => jsonCodec.decode(jsonCodec.encode(make(size)));
  expect(await growth(SIZES, both)).toBeLessThan(MOST_TIMES);
});

declareStoreCosts("memory", (maxMessages) => createMemoryStores({ maxMessages }));
