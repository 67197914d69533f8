import type { StoreFactory } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import { ScrollbackStore } from "../src/store/store.ts";

/** On a busy machine a server may need 1 second per step. */
const TIMEOUT_MS = 240_000;
const MINUTE_MS = 60_000;

/** Tests of the store for each backend. Each `openStores` opens another client of the same stores. */
export function declareStoreTests(name: string, openStores: () => Promise<StoreFactory>): void {
  describe(`the store on ${name}`, () => {
    test(
      "items below a namespace are in one order, in pages, on any client",
      async () => {
        await using stores = await openStores();
        await using others = await openStores();
        const prefix = "range";
        await using writer = new ScrollbackStore({ stores, prefix });
        const long = "\u0001".repeat(470);
        const namespaces = [
          ["a", "-"],
          ["a"],
          ["a", "/"],
          ["a", "b"],
          ["a-"],
          ["a/"],
          [long],
          [long, "c"],
          ["é", "日"],
        ];
        const keys = [".", "..", "/", "a", "a.b..c", "\0", "é", "z".repeat(500)];
        const order = (one: readonly [string[], string]) => Buffer.from(`${one[0].join(".")}..${one[1]}`);
        const places = namespaces
          .flatMap((namespace) => keys.map((key) => [namespace, key] as [string[], string]))
          .toSorted((one, other) => Buffer.compare(order(one), order(other)));
        await writer.batch(
          places.toReversed().map(([namespace, key]) => ({ namespace, key, value: { long: key === "a" } })),
        );
        await using reader = new ScrollbackStore({ stores: others, prefix });
        const found = [];
        for (let offset = 0; offset < places.length; offset += 7)
          found.push(...(await reader.search([], { limit: 7, offset })));
        expect(found.map(({ namespace, key }) => [namespace, key])).toEqual(places);
        const below = places.filter(([[root]]) => root === "a");
        const ofA = await reader.search(["a"], { limit: 100, filter: { long: { $ne: true } } });
        expect(ofA.map(({ namespace, key }) => [namespace, key])).toEqual(
          below.filter(([, key]) => key !== "a"),
        );
        const sorted = [...new Map(places.map(([one]) => [one.join("."), one])).values()];
        expect(await reader.listNamespaces()).toEqual(sorted);
        expect(await reader.listNamespaces({ prefix: ["a"] })).toEqual(
          sorted.filter(([root]) => root === "a"),
        );
        expect(await reader.search(["x".repeat(2_000)])).toEqual([]);
        expect(await reader.listNamespaces({ prefix: ["x".repeat(2_000)] })).toEqual([]);
        await writer.batch(places.map(([namespace, key]) => ({ namespace, key, value: null })));
        expect(await reader.listNamespaces()).toEqual([]);
      },
      TIMEOUT_MS,
    );

    test(
      "an item expires in time, and a read begins its time again",
      async () => {
        await using stores = await openStores();
        const prefix = "expiry";
        const open = (ttlMs: number) => new ScrollbackStore({ stores, prefix, ttlMs });
        const expiryOf = async (key: string) =>
          (await stores.open(`${prefix}:item:a:${key}`).read({ limit: 0 })).expiresAt ?? 0;
        await using second = open(1_000);
        await using minutes = open(10 * MINUTE_MS);
        await using hours = open(600 * MINUTE_MS);
        for (const namespace of [["a"], ["b"]]) await second.put(namespace, "gone", { n: 1 });
        await minutes.put(["a"], "got", { n: 1 });
        await minutes.put(["a"], "searched", { n: 2 });
        const before = await Promise.all([expiryOf("got"), expiryOf("searched")]);
        // They have much less than the longer time left, so that these reads begin it.
        expect(await hours.get(["a"], "got")).toMatchObject({ value: { n: 1 } });
        expect(await hours.search(["a"], { filter: { n: 2 } })).toMatchObject([{ key: "searched" }]);
        const after = await Promise.all([expiryOf("got"), expiryOf("searched")]);
        for (const [at, one] of after.entries())
          expect(one - (before[at] ?? 0)).toBeGreaterThan(500 * MINUTE_MS);
        await using reader = new ScrollbackStore({ stores, prefix, refreshOnRead: false });
        await expect
          .poll(async () => (await reader.search([])).map(({ key }) => key), { timeout: TIMEOUT_MS / 2 })
          .toEqual(["got", "searched"]);
        expect(await reader.get(["a"], "gone")).toBeNull();
        expect(await reader.listNamespaces()).toEqual([["a"]]);
        for (const key of ["got", "searched"]) await reader.delete(["a"], key);
        expect(await reader.search([])).toEqual([]);
      },
      TIMEOUT_MS,
    );
  });
}
