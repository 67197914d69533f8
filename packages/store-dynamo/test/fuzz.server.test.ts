import { randomUUID } from "node:crypto";
import { type AttributeValue, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { sharedServer } from "@scrollback/conformance/servers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callDamaged } from "../../../conformance-tests/src/checks/errors.ts";
import { createDynamoStores } from "../src/index.ts";
import { keyOf } from "../src/item.ts";
import { user } from "./messages.ts";
import { itemsOf, makeTable } from "./table.ts";

const server = sharedServer("dynamodb");

/** A value of any kind that an item may hold. */
const value = fc.oneof(
  fc.constantFrom<AttributeValue>(
    { NULL: true },
    { BOOL: false },
    { N: "-1" },
    { N: "0.5" },
    { N: `1${"0".repeat(100)}` },
  ),
  fc.constantFrom<AttributeValue>(
    { B: Buffer.from("text") },
    { SS: ["a"] },
    { L: [] },
    { M: {} },
    { NS: ["1"] },
  ),
  fc.constantFrom<AttributeValue>(
    { L: [{ S: "1u" }] },
    { L: [{ B: Buffer.from([0xff]) }, { L: [] }] },
    { S: "" },
  ),
  fc.string().map((text): AttributeValue => ({ S: text.toWellFormed() })),
);
const damage = fc.record({
  field: fc.constantFrom(
    ...["inc", "n", "kind", "at", "text", "x", "more"],
    ...["v", "first", "next", "kinds", "ops", "opsN", "meta", "expires", "leaving", "past", "pinned", "dead"],
    ...["batch", "from", "parts"],
  ),
  /** Undefined: the attribute is missing. */
  value: fc.option(value, { nil: undefined }),
  /** A message, the metadata, or the head. */
  row: fc.constantFrom(0, 2, -2, -1),
});

test("C16 reading a thread with a damaged item succeeds or fails with CORRUPT at once, not with a backend failure", async () => {
  await using table = await makeTable((await server).url);
  await fc.assert(
    fc.asyncProperty(damage, async ({ field, value, row }) => {
      const id = randomUUID();
      await using first = createDynamoStores({ url: table.url, maxMessages: 4 });
      const store = first.open(id);
      await store.commit({ append: [{ role: "system", content: "leading" }, user("a")], metadata: "title" });
      await store.addMessages([user("b"), user("c"), user("d")]);
      await store.addMessages([user("e")]);
      const key = (await itemsOf(table, id)).at(row)?.item?.S ?? "";
      await table.raw.send(
        new UpdateItemCommand({
          TableName: table.tableName,
          Key: keyOf(id, key),
          ConditionExpression: "attribute_exists(n)",
          ExpressionAttributeNames: { "#field": field },
          ...(value === undefined
            ? { UpdateExpression: "REMOVE #field" }
            : { UpdateExpression: "SET #field = :value", ExpressionAttributeValues: { ":value": value } }),
        }),
      );
      const start = performance.now();
      for (const options of [{ maxMessages: 4 }, { onCorruptRecord: () => {} }]) {
        await using stores = createDynamoStores({ url: table.url, ...options });
        await callDamaged(stores.open(id), "CORRUPT");
      }
      expect(performance.now() - start).toBeLessThan(10_000);
    }),
    { numRuns: process.env.SCROLLBACK_DEEP === "1" ? 150 : 25 },
  );
});
