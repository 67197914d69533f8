import { randomUUID } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import fc from "fast-check";
import { Binary, Decimal128, Double, Long } from "mongodb";
import { expect, test } from "vitest";
import { callDamaged } from "../../../conformance-tests/src/checks/errors.ts";
import { createMongoStores } from "../src/index.ts";
import { documentsOf, makeCollection } from "./collection.ts";
import { user, users } from "./messages.ts";

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
  fc.constantFrom<unknown>([], {}, [null], [[]], ["1u"], [{ n: 2 }], ["", ""], { length: 2 ** 30 }),
  fc.string().map((text) => text.replaceAll("\0", "")),
);
const damage = fc.record({
  field: fc.constantFrom(
    ...[
      "revision",
      "format",
      "first",
      "next",
      "pinned",
      "newestCompaction",
      "metadata",
      "operations",
      "more",
    ],
    ...["messages", "messages.0", "messages.0.n", "messages.1.record", "messages.2.role", "messages.1.at"],
    ...["pages", "pages.0", "pages.0.id", "pages.0.upto", "pages.0.kinds", "pins", "pins.0", "leaving"],
    ...["createdAt", "updatedAt", "expiresAt", "until", "isDead", "former"],
  ),
  /** Undefined: the field is missing. */
  value: fc.option(value, { nil: undefined }),
  /** The head, or a page. */
  index: fc.constantFrom(0, 1),
});

test("C16 reading a thread with a damaged document succeeds or fails with CORRUPT at once, not with a backend failure", async () => {
  const { url } = await server;
  await using collection = makeCollection(url);
  const { heads, pages, database, collectionName } = collection;
  const place = { url, database, collectionName };
  await fc.assert(
    fc.asyncProperty(damage, async ({ field, value, index }) => {
      const id = randomUUID();
      await using first = createMongoStores({ ...place, maxMessages: 90 });
      const store = first.open(id);
      await store.commit({ append: [{ role: "system", content: "leading" }, user("a")], metadata: "title" });
      await store.addMessages(users(100));
      const { _id = "" } = (await documentsOf(collection, id))[index] ?? {};
      const update =
        value === undefined ? { $unset: { [field]: "" as const } } : { $set: { [field]: value } };
      await (typeof _id === "string" ? heads.updateOne({ _id }, update) : pages.updateOne({ _id }, update));
      const start = performance.now();
      for (const options of [{ maxMessages: 90 }, { onCorruptRecord: () => {} }]) {
        await using stores = createMongoStores({ ...place, ...options });
        await callDamaged(stores.open(id), "CORRUPT");
      }
      expect(performance.now() - start).toBeLessThan(10_000);
    }),
    {
      numRuns: process.env.SCROLLBACK_DEEP === "1" ? 60 : 15,
      examples: [[{ field: "expiresAt", value: new Date(0), index: 0 }]],
    },
  );
});
