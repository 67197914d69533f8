import { describe, expect, test } from "vitest";
import { differenceOf } from "../src/messages/same-value.ts";
import { carriedValues } from "../src/messages/values.ts";

const own = (key: string, value: unknown) => Object.fromEntries([[key, value]]);
const error = (cause?: unknown) => new Error("a", { cause });

describe("differenceOf", () => {
  test.each<[string, unknown, unknown]>([
    ["minus zero", -0, 0],
    ["null and undefined", { a: null }, { a: undefined }],
    ["undefined and absent", { a: undefined }, {}],
    ["absent and undefined", {}, { a: undefined }],
    ["a hole and undefined", Array(1), [undefined]],
    ["a bigint and a number", 1n, 1],
    ["a date and its text", new Date(0), new Date(0).toISOString()],
    ["dates", new Date(0), new Date(1)],
    ["an invalid date and null", new Date(Number.NaN), null],
    ["an invalid date and another", new Date(Number.NaN), new Date(0)],
    ["URLs", new URL("http://a/"), new URL("http://b/")],
    ["flags", /a/g, /a/i],
    ["sources", /a/, /b/],
    ["messages of errors", new Error("a"), new Error("b")],
    ["names of errors", new TypeError("a"), new Error("a")],
    ["causes", error(1), error(2)],
    ["a cause and none", error(undefined), new Error("a")],
    ["an error and an object", { name: "Error", message: "a" }, new Error("a")],
    ["bytes and a list", new Uint8Array([1]), [1]],
    ["kinds of bytes", new Uint8Array([1]), new Int8Array([1])],
    ["bytes and a Buffer", Buffer.from([1]), new Uint8Array([1])],
    ["odd floats", new Float32Array([0]), new Float32Array([-0])],
    ["bytes", new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    ["maps", new Map([[1, 2]]), new Map([[1, 3]])],
    ["keys of maps", new Map([[{ a: 1 }, 2]]), new Map([[{ a: 2 }, 2]])],
    ["sets", new Set([{ a: 1 }]), new Set([{ a: 2 }])],
    ["sizes", new Set([1]), new Set([1, 2])],
    ["an own __proto__", own("__proto__", 1), own("__proto__", 2)],
    ["an own __proto__ and none", {}, own("__proto__", 1)],
    ["an own constructor", own("constructor", { a: 1 }), own("constructor", { a: 2 })],
    ["lone surrogates", "\ud800", "\ufffd"],
    ["a prototype and none", Object.create(null), {}],
  ])("distinguishes: %s", (_, actual, expected) => {
    expect(differenceOf(actual, expected)).toMatch(/^value/);
    expect(differenceOf({ deep: [actual] }, { deep: [expected] })).toMatch(/^value\['deep'\]\['0'\]/);
  });

  test("treats a structured clone as the same", () => {
    // Values that structuredClone refuses or changes.
    const others = /Buffer|URL|error|without prototype/;
    for (const { what, value } of carriedValues.filter(({ what }) => !others.test(what))) {
      expect(differenceOf(structuredClone(value), value), what).toBeUndefined();
    }
  });

  test.each<[string, unknown, unknown]>([
    ["errors", error({ a: 1n }), error({ a: 1n })],
    [
      "errors of two classes by one name",
      Object.assign(new Error("a"), { name: "TypeError" }),
      new TypeError("a"),
    ],
    ["URLs", new URL("http://a/"), new URL("http://a/")],
    ["objects with keys in another order", { a: 1, b: 2 }, { b: 2, a: 1 }],
  ])("treats as the same: %s", (_, actual, expected) => {
    expect(differenceOf(actual, expected)).toBeUndefined();
  });
});
