import assert from "node:assert/strict";
import { test } from "node:test";
import { median, percentile } from "../src/statistics.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, index) => count - index);

test("the median is the middle value, or the mean of the two in the middle", () => {
  assert.equal(median([7]), 7);
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([9, 1, 5, 6]), 5.5);
  assert.equal(median([10, 9, 2, 1]), 5.5, "sorted as numbers, not as text");
  assert.equal(median(upTo(1_001)), 501);
});

test("a percentile is the nearest rank", () => {
  assert.equal(percentile(upTo(1_000), 99), 990);
  assert.equal(percentile(upTo(7), 100), 7);
  assert.equal(percentile([7], 95), 7);
  assert.equal(percentile(upTo(10), 95), 10);
  assert.equal(percentile(upTo(19), 95), 19);
  assert.equal(percentile(upTo(20), 95), 19);
  assert.equal(percentile(upTo(100), 95), 95);
  assert.equal(percentile(upTo(1_000), 95), 950);
});

test("statistics of no values are refused", () => {
  assert.throws(() => median([]), RangeError);
  assert.throws(() => percentile([], 95), RangeError);
});

test("the order of the values is not changed", () => {
  const values = [3, 1, 2];
  median(values);
  percentile(values, 95);
  assert.deepEqual(values, [3, 1, 2]);
});
