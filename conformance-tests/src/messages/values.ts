// Exceeds 300 lines because it lists every kind of value that the codec must carry or refuse.
import fc from "fast-check";

/** An object with own keys of any name, including `__proto__`. */
const own = (...entries: [string, unknown][]): Record<string, unknown> => Object.fromEntries(entries);

/** An error with its own class and name. */
function namedError(name: string, message: string): Error {
  const error = new Error(message);
  Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  return error;
}

/** An object in an array in an object, and so on, `levels` deep. */
const nested = (levels: number) =>
  Array.from({ length: levels / 2 }).reduce<unknown>((inner) => ({ inner: [inner] }), undefined);

const bytes = Uint8Array.from({ length: 64 }, (_, index) => (index * 37) % 256).buffer;

const typedArrays = [
  ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
  ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  // Not in Node.js 22.
  ...("Float16Array" in globalThis ? [globalThis.Float16Array as unknown as typeof Float32Array] : []),
] as const;

/** Keys that have caused errors in stores, databases and languages. */
const hostileKeys: readonly string[] = [
  ...["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "__defineGetter__", "then"],
  ...["toJSON", "length", "", " ", "a.b", "a.b.c", ".", "$set", "$where", "$", "a\\.b", "\\", '"', "'"],
  ...["\n", "\u0000", "\u0001", "\u2028", "\u007f", "0", "-1", "1e3", "01", "~", "json", "meta", "values"],
  ...["type", "é", "e\u0301", "💬", "\ud800", "\udc00x", "a\ud800b", "{a}", "*", "%", "#", "@", "[0]"],
  ...["undefined", "null", "_id", "PK", "S", "N"],
];

/** Strings that look like something else, or are hard to write. */
export const hostileStrings: readonly string[] = [
  ...["", " ", "\u0000", "a\u0000b", "\u0001\u001f", "\r\n", "\u2028\u2029", "\ufeff", "\ufffd", "\uffff"],
  ...["é", "e\u0301", "日本語", "💬👩‍👩‍👧", "\ud800", "\udc00", "a\ud83d", "\udcacb", "\ud83d\ud83d\udcac"],
  ...["\u202eright to left", "null", "undefined", "NaN", "0", "true", "{}", "[]", '{"json":1}', "~{}"],
  ...['~{"json":1,"meta":{}}', "1u{}", "2u{}", "\\", '"', "\\u0000", "$set", "__proto__"],
  ...["2024-05-01T12:00:00.000Z", "x".repeat(100_000)],
];

/** A value that a message may carry: a name, the value, and the value that is read back if it differs. */
export interface CarriedValue {
  readonly what: string;
  readonly value: unknown;
  readonly back?: unknown;
}

const table: Record<string, unknown> = {
  null: null,
  true: true,
  false: false,
  zero: 0,
  "minus zero": -0,
  "a fraction": 0.1,
  "the largest number": Number.MAX_VALUE,
  "the smallest number": Number.MIN_VALUE,
  "a number past safe integers": 2 ** 53 + 2,
  NaN: Number.NaN,
  infinities: [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY],
  bigints: [0n, -1n, 2n ** 200n, 1n, 1n],
  "undefined in an object": { a: undefined, b: 1 },
  "undefined in an array": [undefined, 1, undefined],
  "undefined beside null": { absent: undefined, nothing: null },
  dates: [new Date(0), new Date(-1), new Date(8.64e15), new Date("2024-05-01T12:00:00.123Z")],
  "an invalid date": new Date(Number.NaN),
  "an invalid date, nested": { at: [new Date(Number.NaN)] },
  "an empty map": new Map(),
  "a map": new Map<unknown, unknown>([
    ["a", 1],
    [1, "a"],
    [null, undefined],
    [{ key: 1 }, new Map([[[1], new Set([2])]])],
  ]),
  "a set": new Set<unknown>([1, "1", null, undefined, { a: 1 }, [1], new Set()]),
  "a URL": new URL("https://user:pass@example.org:8443/a%20b?c=d&e#f"),
  "regular expressions": [/a\/b"\n/giu, /(?<year>\d{4})/dy, /(?:)/],
  errors: [new Error(""), new TypeError("wrong"), new RangeError("far", { cause: { at: 1n } })],
  "an error with a cause that is an error": new Error("outer", {
    cause: new Error("inner", { cause: undefined }),
  }),
  "an error with a name of its own": namedError("OddError", "odd"),
  "errors with a code": [
    Object.assign(new Error("refused"), { code: "ECONNREFUSED" }),
    Object.assign(new TypeError("7", { cause: undefined }), { code: 7 }),
  ],
  "an error of several errors": new AggregateError([new Error("one"), new Date(0)], "all failed", {
    cause: 1n,
  }),
  "undefined in every object of plain JSON": {
    role: undefined,
    parts: [{ type: "text", providerOptions: undefined, executed: undefined }, [{ a: undefined }]],
  },
  "an array buffer": bytes.slice(3, 17),
  "an empty array buffer": new ArrayBuffer(0),
  "a view into a part of a buffer": new Uint8Array(bytes, 5, 9),
  "odd floats": new Float64Array([-0, Number.NaN, Number.POSITIVE_INFINITY, 5e-324]),
  "empty things": { array: [], object: {}, string: "" },
  "arrays in arrays": [[], [[]], [[[1]]]],
  "all hostile keys at once": own(...hostileKeys.map((key, index): [string, unknown] => [key, index])),
  "all hostile keys at once, with odd values": own(
    ...hostileKeys.map((key): [string, unknown] => [key, [undefined, key]]),
  ),
  "hostile keys within hostile keys": own(["__proto__", own(["constructor", own(["a.b", new Date(1)])])]),
  "a map under hostile keys": own(["a.b", new Map([["__proto__", own(["$set", 1n])]])]),
  "bytes under hostile keys": own(["prototype", new Uint8Array([1, 2, 3])]),
  "nested 900 levels": nested(900),
  "what superjson writes": { json: { a: 1 }, meta: { values: { a: ["Date"] } } },
};
for (const TypedArray of typedArrays) table[TypedArray.name] = new TypedArray(bytes.slice(0, 16));
for (const key of hostileKeys)
  table[`key ${JSON.stringify(key)}`] = own([key, { inner: new Date(2) }], ["other", key]);

const shared = { a: [1n] };
const cameBack: CarriedValue[] = [
  {
    what: "a Buffer, as Uint8Array",
    value: Buffer.from("buffer"),
    back: Uint8Array.from(Buffer.from("buffer")),
  },
  // biome-ignore lint/suspicious/noSparseArray: a hole is what is tested
  { what: "a hole, as undefined", value: [1, , 3], back: [1, undefined, 3] },
  { what: "a shared object, as copies", value: [shared, shared], back: [{ a: [1n] }, { a: [1n] }] },
  {
    what: "an object without prototype",
    value: Object.assign(Object.create(null), { a: 1 }),
    back: { a: 1 },
  },
];

/** Every value that clause C8 names. */
export const carriedValues: readonly CarriedValue[] = [
  ...Object.entries(table).map(([what, value]) => ({ what, value })),
  ...hostileStrings.map((value) => ({ what: `string ${JSON.stringify(value).slice(0, 40)}`, value })),
  ...cameBack,
];

/**
 * Pairs of objects that V8's JSON.parse confuses when it reads one after the other for the first time
 * (nodejs/node#63785): the second has a key of one escaped character where the first has a plain one.
 */
export const confusableObjects: readonly Record<string, number>[] = ["k", "a", "id"].flatMap((first) =>
  ["a", "n", "z", "0", "\\"].flatMap((second) =>
    ["\n", "\t", "\u0001", '"', "\\", "\ud800"].flatMap((escaped) => [
      { [first]: 1, [second]: 2 },
      { [first]: 1, [escaped]: 2 },
    ]),
  ),
);

class Point {
  readonly x = 1;
}
const cycle: { self?: unknown } = {};
cycle.self = { cycle };
const cyclicMap = new Map<string, unknown>();
cyclicMap.set("self", [cyclicMap]);

/** Values that cannot be carried, by name. */
export const refusedValues: Readonly<Record<string, unknown>> = {
  "a function": () => 1,
  "a class": Point,
  "a symbol": Symbol("a"),
  "a class instance": new Point(),
  "an instance of a class over Map": new (class Index extends Map {})(),
  "a cycle": cycle,
  "a cycle through a map": cyclicMap,
  "a symbol key": { [Symbol("a")]: 1 },
  "a boxed number": Object(1),
  "a boxed string": Object("a"),
  "a boxed boolean": Object(true),
  "a DataView": new DataView(new ArrayBuffer(2)),
  "a WeakMap": new WeakMap(),
  "a promise": Promise.resolve(1),
  "an array with a named property": Object.assign([1], { name: "a" }),
  // biome-ignore lint/suspicious/noSparseArray: a hole and a name are as many keys as elements
  "an array with a hole and a named property": Object.assign([1, , 3], { name: "a" }),
  "an array with a symbol key": Object.assign([1], { [Symbol("a")]: 1 }),
  "an instance of a class over Array": new (class Stack extends Array {})(),
  "an instance of a class over Uint8Array": new (class Bytes extends Uint8Array {})(1),
  "a date with a named property": Object.assign(new Date(0), { zone: "UTC" }),
  "a map with a named property": Object.assign(new Map(), { name: "a" }),
  "a set with a named property": Object.assign(new Set(), { name: "a" }),
  "a regular expression with a named property": Object.assign(/a/, { name: "a" }),
  "a URL with a named property": Object.assign(new URL("https://example.org"), { name: "a" }),
  "bytes with a named property": Object.assign(new Uint8Array(3), { mediaType: "image/png" }),
  "an array buffer with a named property": Object.assign(new ArrayBuffer(3), { mediaType: "image/png" }),
  "an error of an error that cannot be carried": new AggregateError([Symbol("a")]),
  "nesting past all reason": nested(3_000),
  "an iterator": [1][Symbol.iterator](),
};

const key = fc.oneof(fc.constantFrom(...hostileKeys), fc.string({ unit: "binary", maxLength: 6 }));
const typedArray = fc
  .tuple(fc.constantFrom(...typedArrays), fc.uint8Array({ minLength: 0, maxLength: 4 }))
  .map(([TypedArray, { length }]) => new TypedArray(bytes.slice(0, length * 8)));
const leaf = fc.oneof(
  fc.string({ unit: "binary", maxLength: 12 }),
  fc.constantFrom(...hostileStrings.slice(0, -1)),
  fc.double(),
  fc.integer(),
  fc.bigInt(),
  fc.date(),
  fc.boolean(),
  fc.constantFrom(null, undefined, -0),
  fc.webUrl().map((url) => new URL(url)),
  fc.string({ unit: "grapheme-ascii", maxLength: 5 }).map((text) => new TypeError(text)),
  fc.constantFrom(/a/, /\//gi, /\n/u),
  typedArray,
);

/** Any value that a message may carry, with keys of every kind. */
export const anyValue: fc.Arbitrary<unknown> = fc.letrec<{ value: unknown }>((tie) => {
  const value = tie("value");
  return {
    value: fc.oneof(
      { depthSize: "small", withCrossShrink: true },
      leaf,
      fc.array(value, { maxLength: 4 }),
      fc.array(fc.tuple(key, value), { maxLength: 4 }).map((entries) => own(...entries)),
      fc.array(fc.tuple(value, value), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.array(value, { maxLength: 3 }).map((values) => new Set(values)),
      value.map((cause) => new Error("with a cause", { cause })),
    ),
  };
}).value;
