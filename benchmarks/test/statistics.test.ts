import assert from "node:assert/strict";
import { test } from "node:test";
import { median, percentile95, ratio } from "../src/statistics.ts";

const upTo = (count: number) => Array.from({ length: count }, (_, index) => count - index);

test("the median is the middle value, or the mean of the two in the middle", () => {
  assert.equal(median([7]), 7);
  assert.equal(median([9, 1, 5]), 5);
  assert.equal(median([9, 1, 5, 6]), 5.5);
  assert.equal(median([10, 9, 2, 1]), 5.5, "sorted as numbers, not as text");
  assert.equal(median(upTo(1_001)), 501);
});

test("the 95th percentile is the nearest rank", () => {
  assert.equal(percentile95([7]), 7);
  assert.equal(percentile95(upTo(10)), 10);
  assert.equal(percentile95(upTo(19)), 19);
  assert.equal(percentile95(upTo(20)), 19);
  assert.equal(percentile95(upTo(100)), 95);
  assert.equal(percentile95(upTo(1_000)), 950);
});

test("a ratio is one of medians, not of means", () => {
  assert.equal(ratio([2, 2, 200], [1, 1, 1]), 2);
  assert.equal(ratio([3, 4], [14]), 0.25);
});

test("there are no statistics of nothing", () => {
  for (const statistic of [median, percentile95]) assert.throws(() => statistic([]), RangeError);
  assert.throws(() => ratio([1], []), RangeError);
});

test("the values are left in their order", () => {
  const values = [3, 1, 2];
  median(values);
  percentile95(values);
  assert.deepEqual(values, [3, 1, 2]);
});
