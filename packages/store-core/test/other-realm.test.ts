import { createContext, runInContext } from "node:vm";
import { describe, expect, test } from "vitest";
import { jsonCodec } from "../src/index.ts";
import { fileSource } from "../src/message/file-source.ts";

const roundTrip = (value: unknown) => jsonCodec.decode(jsonCodec.encode(value));
const realm = createContext({});
const evaluate = (code: string): unknown => runInContext(code, realm);

/** A URL class as the implementations outside of Node.js have it: state under a hidden symbol, a tag on its prototype. */
const urlClass = `class URL {
  constructor(href) { Object.defineProperty(this, Symbol("impl"), { value: href }); }
  get href() { return this[Object.getOwnPropertySymbols(this)[0]]; }
}
Object.defineProperty(URL.prototype, Symbol.toStringTag, { value: "URL", configurable: true });`;
evaluate(urlClass);

const carried: readonly string[] = [
  "({ a: 1, b: [true, null, { c: 'x' }], d: undefined })",
  "[1, [2n], { 'a.b': new Date(7), ['__proto__']: { x: 1n } }]",
  "new Date(7)",
  "new Date(NaN)",
  "new Map([['k', new Set([1n, new Map([[undefined, { a: new Date(1) }]])])]])",
  "/a\\/b/giu",
  "Uint8Array.of(1, 2, 3).buffer",
  "[1, 2, 3].map((n) => n * 1.5)",
  "Object.create(null, { a: { value: -0, enumerable: true } })",
  "Uint8Array.of(1, 2, 3, 4).subarray(1, 3)",
  ...["Int8", "Uint8", "Uint8Clamped", "Int16", "Uint16", "Int32", "Uint32", "Float32", "Float64"].map(
    (name) => `${name}Array.of(0, 7)`,
  ),
  "BigInt64Array.of(-1n)",
  "BigUint64Array.of(2n ** 63n)",
];

describe("C8 a value of another realm is carried as one of this realm", () => {
  test.each(carried)("%s", (code) => {
    const ours: unknown = Function(`return ${code}`)();
    const decoded = roundTrip({ value: evaluate(code) });
    expect(decoded).toStrictEqual(roundTrip({ value: ours }));
    expect(jsonCodec.encode(evaluate(code))).toBe(jsonCodec.encode(ours));
  });

  test("a URL of another implementation", () => {
    const decoded = roundTrip({ at: evaluate("new URL('https://example.com/a?b=c#d')") });
    expect(decoded).toStrictEqual({ at: new URL("https://example.com/a?b=c#d") });
  });

  test("errors, with the errors of an AggregateError", () => {
    const all = "new AggregateError([new TypeError('one', { cause: new Date(1) })], 'all')";
    const decoded = roundTrip(evaluate(all)) as AggregateError;
    expect(decoded).toBeInstanceOf(AggregateError);
    expect(decoded.errors).toMatchObject([{ name: "TypeError", message: "one", cause: new Date(1) }]);
    const own = "Object.assign(new Error('x'), { errors: ['hunter2'], code: 'E' })";
    expect(jsonCodec.encode(evaluate(own))).not.toContain("hunter2");
  });

  test("bytes and URLs as the content of a file", () => {
    const bytes = { type: "data", data: "AQI=" };
    expect(fileSource(evaluate("Uint8Array.of(1, 2)"), "image/png")).toEqual(bytes);
    expect(fileSource(evaluate("Uint8Array.of(1, 2).buffer"), "image/png")).toEqual(bytes);
    const url = { type: "url", url: "https://example.com/" };
    expect(fileSource(evaluate("new URL('https://example.com/')"), "image/png")).toEqual(url);
  });
});

const refused: readonly string[] = [
  "new (class Point { x = 1 })()",
  ...["Date", "Map", "Set", "Uint8Array", "ArrayBuffer", "Array", "URL", "Object"].map(
    (name) => `new (class ${name} extends globalThis.${name} {})([])`,
  ),
  "Object.setPrototypeOf(new Date(0), class Date {}.prototype)",
  "Object.setPrototypeOf(new Map(), Set.prototype)",
  "Object.assign(new Date(0), { zone: 'UTC' })",
  "Object.assign(new Map(), { [Symbol('s')]: 1 })",
  "Object.assign(Uint8Array.of(1), { mediaType: 'a/b' })",
  "Object.assign(new URL('https://example.com/'), { extra: 1 })",
  "Object.assign(new URL('https://example.com/'), { [Symbol('s')]: 1 })",
  "new (class { get [Symbol.toStringTag]() { return 'URL' } get href() { return 'not one' } })()",
  "new (class { get [Symbol.toStringTag]() { return 'Date' } })()",
  "Object(1)",
  "new DataView(new ArrayBuffer(1))",
  "Promise.resolve(1)",
  "new WeakMap()",
  "() => 1",
];

test.each(refused)("C8 of another realm too, the codec refuses %s", (code) => {
  evaluate("globalThis.URL = URL");
  const value = evaluate(code);
  expect(() => jsonCodec.encode({ a: [value] })).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining("a[0]") }),
  );
});
