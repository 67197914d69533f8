import { randomUUID } from "node:crypto";
import { callDamaged } from "@scrollback/conformance/internal";
import { sharedServer } from "@scrollback/conformance/servers";
import fc from "fast-check";
import { Binary, Decimal128, Double, Long } from "mongodb";
import { expect, test } from "vitest";
import { keysFrom } from "../src/document.ts";
import { createMongoStores } from "../src/index.ts";
import { makeCollection } from "./collection.ts";
import { user } from "./messages.ts";

const server = sharedServer("mongodb");

/** A value of any kind that a document may hold. */
const value = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0.5,
    Number.NaN,
    new Double(1e300),
    Long.MAX_VALUE,
    new Date(Number.NaN),
  ),
  fc.constantFrom<unknown>(
    new Date(0),
    new Date(8.64e15),
    new Binary(Buffer.from("text")),
    /a/,
    Decimal128.fromString("1"),
  ),
  fc.constantFrom<unknown>([], {}, [null], [[]], ["1u"], [{ 0: "text" }], ["", ""], { length: 2 ** 30 }),
  fc.string().map((text) => text.replaceAll("\0", "")),
);
const damage = fc.record({
  field: fc.constantFrom("head", "texts", "texts.0", "texts.1", "expiresAt", "more"),
  /** Undefined: the field is missing. */
  value: fc.option(value, { nil: undefined }),
  /** The root, or the first or the last commit. */
  index: fc.constantFrom(0, 1, 3),
});

test("C16 reading a thread with a damaged document succeeds or fails with CORRUPT at once, not with a backend failure", async () => {
  const { url } = await server;
  await using collection = makeCollection(url);
  const { rows, database, collectionName } = collection;
  const place = { url, database, collectionName };
  await fc.assert(
    fc.asyncProperty(damage, async ({ field, value, index }) => {
      const id = randomUUID();
      await using first = createMongoStores({ ...place, maxMessages: 4 });
      const store = first.open(id);
      await store.commit({ append: [{ role: "system", content: "leading" }, user("a")], metadata: "title" });
      await store.addMessages([user("b"), user("c"), user("d")]);
      await store.addMessages([user("e")]);
      const [row] = await rows
        .find({ _id: keysFrom(id, 1, Number.POSITIVE_INFINITY) })
        .sort({ _id: 1 })
        .skip(index)
        .limit(1)
        .toArray();
      expect(row).toBeDefined();
      const update =
        value === undefined ? { $unset: { [field]: "" as const } } : { $set: { [field]: value } };
      await rows.updateOne({ _id: row?._id ?? "" }, update);
      const start = performance.now();
      for (const options of [{ maxMessages: 4 }, { onCorruptRecord: () => {} }]) {
        await using stores = createMongoStores({ ...place, ...options });
        await callDamaged(stores.open(id), "CORRUPT");
      }
      expect(performance.now() - start).toBeLessThan(10_000);
    }),
    {
      numRuns: process.env.SCROLLBACK_DEEP === "1" ? 60 : 15,
      examples: [[{ field: "expiresAt", value: new Date(0), index: 3 }]],
    },
  );
});
