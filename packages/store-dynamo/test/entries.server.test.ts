import { randomBytes } from "node:crypto";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createDynamoStores } from "../src/index.ts";
import { makeTable, type TestTable } from "./table.ts";

const server = sharedServer("dynamodb");
let table: TestTable;

beforeAll(async () => {
  table = await makeTable((await server).url);
});
afterAll(() => table[Symbol.asyncDispose]());

const name = () => randomBytes(768).toString("base64url");

test("entries whose sort keys are cut are listed once each, in both directions alike", async () => {
  await using stores = createDynamoStores({ url: table.url });
  const index = stores.index(name());
  const key = name();
  const ids = Array.from({ length: 6 }, name);
  for (const [number, id] of ids.entries())
    await index.insert({ key, id }, { version: 0, order: number % 2, value: 1 });
  const listed = async (direction: "up" | "down") => {
    const entries = [];
    let cursor: string | undefined;
    do {
      const page = await index.list({ direction, limit: 2, ...(cursor !== undefined && { cursor }) });
      entries.push(...page.entries);
      cursor = page.cursor;
    } while (cursor !== undefined);
    return entries;
  };
  const up = await listed("up");
  expect(up.map(({ order }) => order)).toEqual([0, 0, 0, 1, 1, 1]);
  expect(new Set(up.map(({ id }) => id))).toEqual(new Set(ids));
  expect(await listed("down")).toEqual(up.toReversed());
});

test("a listing of indexes skips the rest of each index, also of other prefixes", async () => {
  await using stores = createDynamoStores({ url: table.url });
  const names = ["x/1", "x/2", "y/1", "y/2"];
  for (const index of names) {
    for (let order = 0; order < 80; order++)
      await stores.index(index).insert({ key: `${order}`, id: "1" }, { version: 0, order, value: 1 });
  }
  const found: string[] = [];
  let pages = 0;
  let cursor: string | undefined;
  do {
    const page = await stores.listIndexes({
      prefix: "x/",
      limit: 10,
      ...(cursor !== undefined && { cursor }),
    });
    found.push(...page.names);
    cursor = page.cursor;
    pages++;
  } while (cursor !== undefined);
  expect(found.sort()).toEqual(["x/1", "x/2"]);
  // One page an index, that of the other test included, and the end.
  expect(pages).toBeLessThanOrEqual(6);
});
