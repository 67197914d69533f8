import { describe, expect, test } from "vitest";
import { jsonCodec, StoreError } from "../src/index.ts";

const roundTrip = (value: unknown) => jsonCodec.decode(jsonCodec.encode(value));

describe("C8 the codec refuses, naming the place", () => {
  const refused: Record<string, unknown> = {
    "a function": () => 1,
    "a list of a subclass beside what JSON lacks": class Stack extends Array {}.from([1n]),
    "a Set with a symbol key": Object.assign(new Set(), { [Symbol("s")]: 1 }),
    "floats with a symbol key": Object.assign(Float64Array.of(Number.NaN), { [Symbol("s")]: 1 }),
    "a Buffer with a field": Object.assign(Buffer.from("a"), { mediaType: "a/b" }),
    "a subclass of Buffer": Object.setPrototypeOf(Buffer.from("a"), Object.create(Buffer.prototype)),
  };
  for (const [name, value] of Object.entries(refused)) {
    test(name, () => {
      expect(() => jsonCodec.encode({ a: { b: [value] } })).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining("a.b[0]") }),
      );
    });
  }

  test("nesting that would exhaust the stack", () => {
    const nest = (depth: number) => {
      let value: unknown = 1n;
      for (let level = 0; level < depth; level++) value = { a: value };
      return value;
    };
    expect(roundTrip(nest(999))).toStrictEqual(nest(999));
    for (const depth of [1_001, 200_000]) {
      expect(() => jsonCodec.encode(nest(depth))).toThrow(StoreError);
    }
  });

  test("nested values whose paths would need quadratic text", () => {
    const nest = (depth: number, key: string) => {
      let value: Record<string, unknown> = {};
      for (let level = 0; level < depth; level++) value = { [key]: value, at: new Date(level) };
      return value;
    };
    expect(roundTrip(nest(300, "a"))).toStrictEqual(nest(300, "a"));
    expect(() => jsonCodec.encode(nest(900, "k".repeat(100)))).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining("nested") }),
    );
    // The limit is on nesting: any number of values may be side by side.
    const rows = Array.from({ length: 10_000 }, (_, row) => ({ ["k".repeat(150)]: new Date(row) }));
    expect(roundTrip(rows)).toStrictEqual(rows);
  });
});

describe("C16 the codec refuses text that claims more than it holds", () => {
  const claims: Record<string, string> = {
    "a typed array by its length": '~{"json":1e9,"meta":{"values":[["typed-array","Float64Array"]],"v":1}}',
    "a typed array inside":
      '~{"json":{"a":[9e8]},"meta":{"values":{"a.0":[["typed-array","Int8Array"]]},"v":1}}',
    "a typed array inside a map":
      '~{"json":[[1,9e8]],"meta":{"values":["map",{"0.1":[["typed-array","Int8Array"]]}],"v":1}}',
    "bytes by a length":
      '~{"json":["Uint8Array",{"length":1e9}],"meta":{"values":[["custom","bytes"]],"v":1}}',
    "bytes as a list": '~{"json":["Uint8Array",[1,2]],"meta":{"values":[["custom","bytes"]],"v":1}}',
    "a value that contains itself": '~{"json":{"a":{}},"meta":{"referentialEqualities":[["a"]],"v":1}}',
  };
  test.each(Object.entries(claims))("%s", (_, text) => {
    const before = process.memoryUsage().arrayBuffers;
    expect(() => jsonCodec.decode(text)).toThrow(TypeError);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1_000_000);
  });
});

test("C16 the codec refuses bytes in other base64 than it writes", () => {
  const textOf = (base64: string) =>
    `~{"json":["Uint8Array","${base64}"],"meta":{"values":[["custom","bytes"]],"v":1}}`;
  for (const bytes of [[0, 0, 0], [0], [0, 16, 131, 251, 239, 255]]) {
    const text = textOf(Buffer.from(bytes).toString("base64"));
    expect(jsonCodec.decode(text)).toEqual(Uint8Array.from(bytes));
  }
  for (const base64 of ["AAAA ", " AAAA", "AAAA=", "AA", "AB==", "--__"])
    expect(() => jsonCodec.decode(textOf(base64)), base64).toThrow("bytes must be base64");
});
