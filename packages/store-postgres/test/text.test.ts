import { describe, expect, test } from "vitest";
import { fromText, SEPARATOR, toBigint, toText } from "../src/text.ts";

describe("texts", () => {
  test.each([
    ["", ""],
    ["Hello 💬\n", "Hello 💬\n"],
    ["a\0b", "a\x1a0b"],
    [`a${SEPARATOR}b`, "a\x1a1b"],
    ["a\x1ab", "a\x1a2b"],
    ["\x1a0\0\x1a", "\x1a20\x1a0\x1a2"],
  ])("%j is stored as %j, and read back", (text, stored) => {
    expect(toText(text)).toBe(stored);
    expect(fromText(stored)).toBe(text);
  });

  test("a stored text has neither NUL nor the separator", () => {
    const every = String.fromCharCode(...Array.from({ length: 0x80 }, (_, code) => code));
    expect(toText(every)).not.toContain("\0");
    expect(toText(every)).not.toContain(SEPARATOR);
    expect(fromText(toText(every))).toBe(every);
  });

  test.each(["a\x1a", "a\x1a9", "\x1a\n"])("a damaged escape stays as it is: %j", (stored) => {
    expect(fromText(stored)).toBe(stored);
  });
});

test.each([
  [7, 7],
  [-7.9, -7],
  [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  [1e300, 2 ** 53],
  [-1e300, -(2 ** 53)],
  [Number.POSITIVE_INFINITY, 2 ** 53],
])("the number %d is stored as %d", (value, stored) => {
  expect(toBigint(value)).toBe(stored);
});
