import { randomUUID } from "node:crypto";
import { type AttributeValue, UpdateItemCommand } from "@aws-sdk/client-dynamodb";
import { callDamaged } from "@scrollback/conformance/internal";
import { sharedServer } from "@scrollback/conformance/servers";
import fc from "fast-check";
import { expect, test } from "vitest";
import { DynamoRecordLog } from "../src/dynamo-log.ts";
import { createDynamoStores } from "../src/index.ts";
import { keyOf } from "../src/item.ts";
import { user } from "./messages.ts";
import { makeTable } from "./table.ts";

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
const anyDamage = fc.record({
  field: fc.constantFrom("h", "c", "c[0]", "x", "more"),
  /** Undefined: the attribute is missing. */
  value: fc.option(value, { nil: undefined }),
  /** The root, or the first or the last commit. */
  row: fc.constantFrom(0, 1, 3),
});

/** A root has no list of texts. */
const damage = anyDamage.filter(({ field, row }) => row > 0 || field !== "c[0]");

test("C16 reading a thread with a damaged item succeeds or fails with CORRUPT at once, not with a backend failure", async () => {
  await using table = await makeTable((await server).url);
  const log = new DynamoRecordLog({ client: table.raw, tableName: table.tableName, owned: false });
  await fc.assert(
    fc.asyncProperty(damage, async ({ field, value, row }) => {
      const id = randomUUID();
      await using first = createDynamoStores({ url: table.url, maxMessages: 4 });
      const store = first.open(id);
      await store.commit({ append: [{ role: "system", content: "leading" }, user("a")], metadata: "title" });
      await store.addMessages([user("b"), user("c"), user("d")]);
      await store.addMessages([user("e")]);
      const rows = (await log.read(id, Number.POSITIVE_INFINITY, 10, true)).reverse();
      await table.raw.send(
        new UpdateItemCommand({
          TableName: table.tableName,
          Key: keyOf(id, rows[row]?.number ?? 0),
          ConditionExpression: "attribute_exists(h)",
          ...(value === undefined
            ? { UpdateExpression: `REMOVE ${field}` }
            : { UpdateExpression: `SET ${field} = :value`, ExpressionAttributeValues: { ":value": value } }),
        }),
      );
      const start = performance.now();
      for (const options of [{ maxMessages: 4 }, { onCorruptRecord: () => {} }]) {
        await using stores = createDynamoStores({ url: table.url, ...options });
        await callDamaged(stores.open(id), "CORRUPT");
      }
      expect(performance.now() - start).toBeLessThan(10_000);
    }),
    { numRuns: process.env.SCROLLBACK_DEEP === "1" ? 60 : 15 },
  );
});
