import { setTimeout as sleep } from "node:timers/promises";
import type { IndexEntry, StoreIndex } from "@scrollback/store-core";
import { createStores } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect } from "vitest";
import { content, ownIndex } from "../checks/entries.ts";
import { rejection } from "../checks/errors.ts";
import { checkProperty } from "../checks/property.ts";
import { AFTER_MS } from "../checks/times.ts";
import type { Clause } from "../clause.ts";
import { encrypting } from "../messages/codecs.ts";

type Vector = readonly number[];
type Found = Pick<IndexEntry, "key"> & { readonly score: number };

const at = (key: string, id = "1") => ({ key, id });
const keysOf = (entries: readonly Found[]) => entries.map(({ key }) => key);

function cosine(one: Vector, other: Vector): number {
  const dot = one.reduce((sum, value, place) => sum + value * (other[place] ?? 0), 0);
  return dot / Math.hypot(...one) / Math.hypot(...other);
}

/** Every entry of the expectation is found, with its score to six digits, in an order that these scores allow. */
function expectNearest(found: readonly Found[], expected: ReadonlyMap<string, number>): void {
  expect(new Set(keysOf(found))).toEqual(new Set(expected.keys()));
  expect(found).toHaveLength(expected.size);
  for (const { key, score } of found) expect(score).toBeCloseTo(expected.get(key) ?? Number.NaN, 5);
  for (const [place, { key, score }] of found.entries()) {
    const { key: nextKey = "", score: next = -2 } = found[place + 1] ?? {};
    expect(score > next || (score === next && (key < nextKey || nextKey === ""))).toBe(true);
  }
}

/** Tests of entries with vectors, and of the search for the nearest ones. */
export const indexVectors: Clause["declare"] = (test) => {
  test("nearest: after any writes, the entries with vectors of these dimensions, by the cosine of their best", async (backend) => {
    backend.requireVectors();
    const vector = fc.array(fc.integer({ min: -3, max: 3 }), { minLength: 3, maxLength: 3 });
    const some = vector.filter((one) => one.some((value) => value !== 0));
    const vectors = fc.oneof(fc.array(some, { maxLength: 3 }), fc.constant([[1, 2]]), fc.constant(undefined));
    const write = fc.record({
      verb: fc.constantFrom("insert", "update", "update", "remove"),
      key: fc.constantFrom("a", "b", "c", "d", "e"),
      vectors,
    });
    await checkProperty(
      fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 20 }), some, async (writes, query) => {
        const index = ownIndex(backend);
        const model = new Map<string, readonly Vector[]>();
        for (const [version, { verb, key, vectors }] of writes.entries()) {
          const fields = content({ version, ...(vectors && { vectors }) });
          if (verb === "remove") {
            await index.remove(at(key));
            model.delete(key);
          } else if (verb === "insert") {
            if (await index.insert(at(key), fields)) model.set(key, vectors ?? []);
          } else if ((await index.update(at(key), fields)) !== null && vectors) model.set(key, vectors);
        }
        const expected = new Map(
          [...model].flatMap(([key, vectors]) =>
            vectors[0]?.length === 3
              ? [[key, Math.max(...vectors.map((one) => cosine(query, one)))] as const]
              : [],
          ),
        );
        expectNearest(await index.nearest(query), expected);
      }),
      10,
    );
  });

  test("nearest: only between two cursors, by pages of limit and offset, ties by the order of the index", async (backend) => {
    backend.requireVectors();
    const index = ownIndex(backend);
    const places = ["a", "b1", "b2", "b3", "c"];
    for (const [place, key] of places.entries())
      await index.insert(at(key), content({ vectors: [[1, place % 2]], value: key }));
    const nearest = async (options: Parameters<StoreIndex["nearest"]>[1]) =>
      keysOf(await index.nearest([5, 0], options));
    expect(await nearest({})).toEqual(["a", "b2", "c", "b1", "b3"]);
    expect(await nearest({ limit: 2 })).toEqual(["a", "b2"]);
    expect(await nearest({ limit: 2, offset: 2 })).toEqual(["c", "b1"]);
    expect(await nearest({ offset: 5 })).toEqual([]);
    const cursor = (key: string) => index.cursorAfter({ key, id: "", order: 0 }, "up");
    expect(await nearest({ after: cursor("b"), before: cursor("c") })).toEqual(["b2", "b1", "b3"]);
    expect(await nearest({ after: cursor("b"), before: cursor("c"), limit: 1, offset: 1 })).toEqual(["b1"]);
    expect(await nearest({ after: cursor("b2") })).toEqual(["b2", "c", "b3"]);
    expect(await nearest({ before: cursor("b2") })).toEqual(["a", "b1"]);
    const [first] = await index.nearest([5, 0], { limit: 1 });
    expect(first).toEqual({ ...at("a"), version: 0, order: 0, value: "a", score: expect.closeTo(1, 5) });
  });

  test("vectors of any length and of two clients, and of another index", async (backend) => {
    backend.requireVectors();
    const index = ownIndex(backend);
    const others = backend.otherStores().index(index.name);
    await index.insert(at("small"), content({ vectors: [[1e-200, 0]] }));
    await others.insert(at("large"), content({ vectors: [[0, -1e200]] }));
    await ownIndex(backend).insert(at("other"), content({ vectors: [[1, 0]] }));
    for (const reader of [index, others]) {
      const found = await reader.nearest([3e-300, 4e-300]);
      expectNearest(
        found,
        new Map([
          ["small", 0.6],
          ["large", -0.8],
        ]),
      );
    }
    const dimensions = backend.driver.capabilities.index?.vectors?.maxDimensions ?? 0;
    expect(index.maxDimensions).toBe(dimensions);
    const largest = Array.from({ length: Math.min(dimensions, 2_000) }, (_, place) => place - 1_000);
    const opposite = largest.map((value) => -value);
    await index.insert(at("wide"), content({ vectors: [largest, opposite] }));
    for (const query of [largest, opposite])
      expectNearest(await others.nearest(query), new Map([["wide", 1]]));
  });

  test("an entry that is removed, replaced or expired is not found by its vectors, which are gone at rest", async (backend) => {
    backend.requireVectors();
    const index = ownIndex(backend);
    const dump = () => backend.dumpIndex(index.name);
    const before = await dump();
    await index.insert(at("a"), content({ vectors: [[3, 4]] }));
    expect(keysOf(await index.nearest([3, 4]))).toEqual(["a"]);
    await index.update(at("a"), content({ version: 1 }));
    expect(keysOf(await index.nearest([3, 4]))).toEqual(["a"]);
    await index.update(at("a"), content({ version: 2, vectors: [[-4, 3]] }));
    expectNearest(await index.nearest([4, -3]), new Map([["a", -1]]));
    // A late update changes nothing.
    await index.update(at("a"), content({ version: 1, vectors: [[3, 4]] }));
    expectNearest(await index.nearest([3, 4]), new Map([["a", 0]]));
    await index.update(at("a"), content({ version: 3, vectors: [] }));
    expect(await index.nearest([3, 4])).toEqual([]);
    expect(await dump()).not.toContain("0.8,0.6");
    await index.update(at("a"), content({ version: 4, vectors: [[3, 4]] }));
    await index.remove(at("a"));
    expect(await index.nearest([3, 4])).toEqual([]);
    expect(await dump()).toBe(before);
    await index.insert(at("a"), content());
    expect(await index.nearest([3, 4])).toEqual([]);
    await index.insert(at("soon"), content({ vectors: [[3, 4]], expiresAt: Date.now() + 300 }));
    expect(keysOf(await index.nearest([3, 4]))).toEqual(["soon"]);
    await sleep(300 + AFTER_MS);
    expect(await index.nearest([3, 4])).toEqual([]);
    // Its place is free, and nothing of the old entry is left in it.
    await index.insert(at("soon"), content());
    expect(await index.nearest([3, 4])).toEqual([]);
    expect(await dump()).not.toContain("0.6,0.8");
  });

  test("a search is one request", async (backend) => {
    backend.requireVectors();
    backend.requireRequests();
    const index = ownIndex(backend);
    await index.insert(at("a"), content({ vectors: [[1, 0]] }));
    await index.nearest([1, 0]);
    expect(await backend.requestsOf(() => index.nearest([1, 0]))).toBe(1);
  });

  test("with a codec, and on a backend without them, vectors are UNSUPPORTED, without a request", async (backend) => {
    const { name } = ownIndex(backend);
    const hasVectors = backend.driver.capabilities.index?.vectors !== undefined;
    for (const stores of [
      ...(hasVectors ? [] : [backend.stores()]),
      createStores(backend.driver, { codec: encrypting() }),
    ]) {
      const index = stores.index(name);
      expect(index.maxDimensions).toBe(0);
      await backend.withoutRequests(async () => {
        await rejection(index.nearest([1]), "UNSUPPORTED");
        await rejection(index.insert(at("a"), content({ vectors: [[1]] })), "UNSUPPORTED");
        await rejection(index.update(at("a"), content({ vectors: [[1]] })), "UNSUPPORTED");
      });
      // To have none is not to search by them.
      expect(await index.insert(at("a"), content({ vectors: [] }))).toBe(true);
      expect(await index.update(at("a"), content({ version: 1, vectors: [] }))).toBe(0);
      await index.remove(at("a"));
    }
  });
};
