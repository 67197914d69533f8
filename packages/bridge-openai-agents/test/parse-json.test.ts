import { expect, test } from "vitest";
import { parseJson } from "../src/tool-items.ts";

test("parsed JSON reports numbers that lost digits", () => {
  expect(parseJson('{"a":1.0,"b":158466092300409000}')).toEqual({
    value: { a: 1, b: 158466092300409000 },
    isExact: true,
  });
  expect(parseJson("12345678901234567890")?.isExact).toBe(false);
  expect(parseJson("1e999")?.isExact).toBe(false);
  expect(parseJson("{")).toBe(undefined);
});
