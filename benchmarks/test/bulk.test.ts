import assert from "node:assert/strict";
import { test } from "node:test";
import { Bulk, overridden } from "../src/bulk.ts";

test("inserts are sent in batches, in order, and none is lost", async () => {
  const sent: number[][] = [];
  const bulk = new Bulk<number>(3, async (inserts) => sent.push([...inserts]));
  for (let insert = 1; insert <= 7; insert++) await bulk.add(insert);
  assert.deepEqual(sent, [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  assert.throws(() => bulk.assertFlushed(), /nothing but inserts/);
  await bulk.flush();
  assert.deepEqual(sent.at(-1), [7]);
  bulk.assertFlushed();
  await bulk.flush();
  assert.equal(sent.length, 3);
});

test("an insert that fails is not swallowed", async () => {
  const bulk = new Bulk<number>(2, () => Promise.reject(new Error("refused")));
  await bulk.add(1);
  await assert.rejects(bulk.add(2), /refused/);
});

test("an object keeps its members except the overridden ones", () => {
  class Client {
    readonly #name = "private";
    name = () => this.#name;
    greet() {
      return `I am ${this.#name}`;
    }
    get length() {
      return this.#name.length;
    }
  }
  const client = overridden(new Client(), { name: () => "other" });
  assert.equal(client.name(), "other");
  assert.equal(client.greet(), "I am private");
  assert.equal(client.length, 7);
  assert.ok(client instanceof Client);
});
