import { createStores } from "@scrollback/store-core/driver";
import fc from "fast-check";
import { expect } from "vitest";
import { checkProperty } from "../checks/property.ts";
import type { Clause } from "../clause.ts";
import { textsIn, user } from "../messages/messages.ts";

/** Ids that are similar to each other, or special to some server, language or file system. */
const hostileIds = [
  ...["a", "A", "a ", " a", " ", "a:b", "a:b:c", "a:", ":a", ":", "::", "a/b", "a/", "/a", "/", "a.b", "."],
  ...["..", "../a", "a\\b", "a%3Ab", "%", "a%", "a_", "_", "{a}", "{a}b", "a{b}c", "{", "}", "}{", "{}"],
  ...["a}b{c", "*", "a*", "?", "[a]", "[^a]", "a-b", "a--", "'", '"', "`", "a'; --", "$ne", "$"],
  ...["{$gt: 1}", "__proto__", "constructor", "toString", "a\u0000", "a\u0000b", "\u0000", "a\n", "\r"],
  ...["a\tb", "\u0001", "\u007f", "\u0085", "\u2028", "\ufeff", "\ufeffa", "\uffff", "é", "e\u0301", "ß"],
  ...["SS", "ı", "I", "i", "日本", "💬", "💬\u200d", "\u{10ffff}", "0", "00", "1", "-1", "1e3", "01", "NaN"],
  ...["null", "undefined", "true", "messages", "head", "meta", "metadata", "operations", "thread", "#"],
  ...["a#b", "@", "a|b", "|", "~", "a~b", "a+b", "a b", "a=b", "a&b", "a,b", ";", "x".repeat(1_024)],
  ...["x".repeat(1_023), `${"x".repeat(1_023)}y`, "é".repeat(512), "💬".repeat(256), `${"/".repeat(1_024)}`],
  `${"\u0000".repeat(1_024)}`,
];

const nearby = (id: string) =>
  fc.oneof(
    fc
      .constantFrom(":", "/", ".", "\u0000", " ", "{", "}", "*", "%", "\\", "~", "#", "0")
      .map((end) => id + end),
    fc.constantFrom(":", "/", "\u0000", " ", "{", "0").map((start) => start + id),
    fc.constantFrom(
      id.toUpperCase(),
      id.toLowerCase(),
      id.normalize("NFD"),
      id.normalize("NFC"),
      id.normalize("NFKC"),
    ),
    fc.constantFrom(
      id.slice(1),
      id.slice(0, -1),
      encodeURIComponent(id),
      `{${id}}`,
      JSON.stringify(id),
      id + id,
    ),
    fc.string({ unit: "binary", minLength: 1, maxLength: 10 }),
  );
const isId = (id: string) => id !== "" && id.isWellFormed() && Buffer.byteLength(id) <= 1_024;
const idPair = fc
  .string({
    unit: fc.oneof(
      fc.constantFrom(..."ab:/{}*%. \u0000\\~é"),
      fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    ),
    minLength: 1,
    maxLength: 12,
  })
  .filter(isId)
  .chain((id) => fc.tuple(fc.constant(id), nearby(id)))
  .filter(([one, two]) => isId(two) && one !== two);

export const isolation: Clause = {
  title: "Isolation",
  declare(test) {
    test("every id is a separate thread", async (backend) => {
      const { driver } = await backend.freshHarness();
      const stores = createStores(driver);
      expect(new Set(hostileIds).size).toBe(hostileIds.length);
      for (const [index, id] of hostileIds.entries()) {
        await stores
          .open(id)
          .commit({ append: [user(`${index}`)], metadata: index }, { expectedRevision: null });
      }
      for (const [index, id] of hostileIds.entries()) {
        const { entries, metadata } = await stores.open(id).read();
        expect(
          entries.map(({ message }) => message.content),
          JSON.stringify(id).slice(0, 60),
        ).toEqual([`${index}`]);
        expect(metadata).toBe(index);
        expect(stores.open(id).threadId).toBe(id);
      }
      // Clearing every other one leaves the rest.
      for (const [index, id] of hostileIds.entries()) if (index % 2 === 0) await stores.open(id).clear();
      for (const [index, id] of hostileIds.entries()) {
        expect(await textsIn(stores.open(id)), JSON.stringify(id).slice(0, 60)).toEqual(
          index % 2 === 0 ? [] : [`${index}`],
        );
      }
    });

    test("similar ids are separate threads", async (backend) => {
      const { driver } = await backend.freshHarness();
      const stores = createStores(driver);
      const run = fc.asyncProperty(idPair, async ([one, two]) => {
        const [first, second] = [stores.open(one), stores.open(two)];
        await first.replaceMessages([user(`of ${one}`)]);
        await second.replaceMessages([user(`of ${two}`), user("second")]);
        await first.commit({ metadata: one });
        expect(await textsIn(first)).toEqual([`of ${one}`]);
        await first.clear();
        expect(await textsIn(second)).toEqual([`of ${two}`, "second"]);
        await second.popMessage();
        expect(await textsIn(first)).toEqual([]);
      });
      await checkProperty(run, 80);
    });

    test("a store without a thread id gets a new one each time", async (backend) => {
      const stores = backend.stores();
      const ids = Array.from({ length: 50 }, () => stores.open().threadId);
      expect(new Set(ids).size).toBe(50);
      // UUIDs of version 7, which sort by time.
      for (const id of ids)
        expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    });

    test("two namespaces are separate, with any id", async (backend) => {
      const one = createStores((await backend.freshHarness()).driver);
      const two = createStores((await backend.freshHarness()).driver);
      for (const id of hostileIds.slice(0, 40)) {
        await one.open(id).addMessages([user("one")]);
        expect(await textsIn(two.open(id)), id).toEqual([]);
        await two.open(id).addMessages([user("two")]);
        await two.open(id).clear();
        expect(await textsIn(one.open(id)), id).toEqual(["one"]);
      }
    });

    test("operation ids, revisions and expiry of a thread do not affect another", async (backend) => {
      const stores = backend.stores();
      const prefix = crypto.randomUUID();
      const [one, two] = [stores.open(prefix), stores.open(`${prefix}:more`)];
      const revision = await one.addMessages([user("a")], { operationId: "op" });
      expect(await two.addMessages([user("b")], { operationId: "op", expectedRevision: null })).not.toBe(
        revision,
      );
      expect(await textsIn(one)).toEqual(["a"]);
      expect(await textsIn(two)).toEqual(["b"]);
    });
  },
};
