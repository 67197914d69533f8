import { types } from "node:util";
import { SuperJSON } from "superjson";
import { invalid } from "./arguments.ts";
import { StoreError } from "./errors.ts";
import type { RecordPlace, RecordWrite } from "./record.ts";

/**
 * Turns a message (or a thread's metadata) into text and back.
 *
 * `encode` gives well-formed Unicode, the same text for the same value of the same write, at least one character. It
 * throws a StoreError `INVALID_ARGUMENT` for a value that `decode` could not bring back, `TOO_LARGE` for one past a limit
 * of its own. `decode` gives a fresh value each time and throws for text that `encode` did not write; the message of a
 * StoreError that it throws becomes part of the `CORRUPT` error. A codec that does not bind its text to a place ignores
 * the second argument.
 *
 * @example
 * const reversed: Codec = {
 *   encode: (value) => [...JSON.stringify(value)].reverse().join(""),
 *   decode: (text) => JSON.parse([...text].reverse().join("")),
 * };
 */
export interface Codec {
  encode(value: unknown, write: RecordWrite): string;
  decode(text: string, place: RecordPlace): unknown;
}

/** What a codec makes of a value. @throws StoreError `INVALID_ARGUMENT` when that is no well-formed text. */
export function encodeText(codec: Codec, value: unknown, write: RecordWrite): string {
  const text: unknown = codec.encode(value, write);
  return typeof text === "string" && text !== "" && text.isWellFormed()
    ? text
    : invalid("codec.encode must return well-formed text that is not empty");
}

/** Deeper nesting than this is refused: it would exhaust the stack of whoever reads it. */
const MAX_DEPTH = 1_000;
/**
 * superjson writes the whole path to each value that JSON has not. Where such values hold each other deep down, that is
 * quadratic in text and time: past so many characters, and so many more for each value, they are refused.
 */
const MAX_PATHS = { characters: 1024 ** 2, perValue: 256 };
/** Holes cost no memory, but what stands for them does: more than this is refused. */
const MAX_HOLES = 100_000;
/** What marks text that is superjson's; JSON never begins with it. */
const SUPERJSON_MARK = "~";

/**
 * Keys that JSON writes with an escape. V8 in Node 24 reads such a key wrongly after certain others (nodejs/node#63785),
 * so no key is ever written with one.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what JSON escapes
const escapedKey = /["\\\u0000-\u001f\ud800-\udfff]/;
/** Keys that superjson cannot write: it throws, or its own paths would need an escape. */
const superjsonKey = /[.\\]|^(?:__proto__|constructor|prototype)$/;
const isDifficult = (key: string) => escapedKey.test(key) || superjsonKey.test(key);

const typedArrays = new Map(
  (
    [
      Int8Array,
      Uint8Array,
      Uint8ClampedArray,
      Int16Array,
      Uint16Array,
      Int32Array,
      Uint32Array,
      Float32Array,
      Float64Array,
      BigInt64Array,
      BigUint64Array,
      // Not in Node 22.
      ...("Float16Array" in globalThis ? [globalThis.Float16Array as unknown as typeof Float32Array] : []),
    ] as const
  ).map((type) => [type.name, type]),
);

/** Stands for an object with keys that superjson or JSON would not carry. An array, because superjson walks into those. */
class Entries extends Array<[string, unknown]> {}

const superjson = new SuperJSON();
superjson.registerCustom<Entries, [string, never][]>(
  {
    isApplicable: (value): value is Entries => value instanceof Entries,
    serialize: (pairs) => Array.from(pairs) as [string, never][],
    deserialize: (pairs) => Object.fromEntries(pairs) as never,
  },
  "entries",
);
superjson.registerCustom<ArrayBuffer | ArrayBufferView, [string, string]>(
  {
    isApplicable: (value): value is ArrayBuffer | ArrayBufferView =>
      types.isArrayBuffer(value) || types.isTypedArray(value),
    serialize: (value) =>
      types.isArrayBuffer(value)
        ? ["ArrayBuffer", Buffer.from(value).toString("base64")]
        : [
            Buffer.isBuffer(value) ? "Uint8Array" : value.constructor.name,
            Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"),
          ],
    deserialize: ([type, base64]) => {
      // Anything else may claim a length that it has not.
      if (typeof base64 !== "string") throw new TypeError("bytes must be base64");
      const bytes = Uint8Array.from(Buffer.from(base64, "base64")).buffer;
      if (type === "ArrayBuffer") return bytes;
      const TypedArray = typedArrays.get(type);
      if (!TypedArray) throw new TypeError("unknown kind of bytes");
      return new TypedArray(bytes);
    },
  },
  "bytes",
);
superjson.registerCustom<Date, null>(
  {
    isApplicable: (value): value is Date => types.isDate(value) && Number.isNaN(value.getTime()),
    serialize: () => null,
    deserialize: () => new Date(Number.NaN),
  },
  "invalid-date",
);
superjson.registerCustom<Error, never>(
  {
    isApplicable: (value): value is Error => value instanceof Error,
    serialize: (error) =>
      ("cause" in error ? [error.name, error.message, error.cause] : [error.name, error.message]) as never,
    deserialize: (fields: readonly unknown[]) => {
      const [name, message] = fields as [string, string];
      const error = fields.length > 2 ? new Error(message, { cause: fields[2] }) : new Error(message);
      if (error.name !== name)
        Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
      // The stack of whoever reads it would mislead.
      error.stack = `${name}: ${message}`;
      return error;
    },
  },
  "error",
);

function refuse(path: readonly string[], problem: string): never {
  throw new StoreError("INVALID_ARGUMENT", `${path.join("") || "the value"} ${problem}`);
}

function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The values that superjson (with the rules above) carries and JSON does not, but for undefined and odd numbers. */
function isCarriedObject(value: object): boolean {
  if (types.isTypedArray(value)) return Buffer.isBuffer(value) || typedArrays.has(value.constructor.name);
  const prototype = Object.getPrototypeOf(value);
  return (
    types.isNativeError(value) ||
    value instanceof Error ||
    (types.isArrayBuffer(value) && prototype === ArrayBuffer.prototype) ||
    (types.isDate(value) && prototype === Date.prototype) ||
    (types.isRegExp(value) && prototype === RegExp.prototype) ||
    (value instanceof URL && prototype === URL.prototype)
  );
}

/** Whether plain JSON carries a value, as it does nearly every message. */
function isPlainJson(value: unknown, depth: number): boolean {
  if (typeof value === "string" || typeof value === "boolean" || value === null) return true;
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  if (typeof value !== "object" || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) {
    return (
      Object.keys(value).length === value.length && value.every((inner) => isPlainJson(inner, depth + 1))
    );
  }
  if (Object.getPrototypeOf(value) !== Object.prototype || Object.getOwnPropertySymbols(value).length > 0)
    return false;
  for (const key of Object.keys(value)) {
    if (escapedKey.test(key) || !isPlainJson((value as Record<string, unknown>)[key], depth + 1))
      return false;
  }
  return true;
}

/** Where a walk through a value is, and what it has met. */
class Walk {
  readonly path: string[] = [];
  /** The objects that are being walked, to find cycles. */
  readonly open = new Set<object>();
  #characters = 0;
  #values = 0;
  #inPaths = 0;

  enter(key: string): void {
    this.path.push(this.path.length === 0 || key.startsWith("[") ? key : `.${key}`);
    this.#characters += this.path.at(-1)?.length ?? 0;
  }

  leave(): void {
    this.#characters -= this.path.pop()?.length ?? 0;
  }

  /** Counts a value that superjson writes the path to. @throws StoreError `INVALID_ARGUMENT` where it is too much. */
  countPath(): void {
    this.#values += 1;
    this.#inPaths += this.#characters;
    const { characters, perValue } = MAX_PATHS;
    if (this.#inPaths > characters + perValue * this.#values) {
      refuse([], "has too many values that JSON has not (Date, Map, undefined, ...) nested in each other");
    }
  }
}

/** Refuses what cannot be carried, naming the place. @throws StoreError `INVALID_ARGUMENT`. */
function checkValue(value: unknown, walk: Walk): void {
  const { path, open } = walk;
  if (typeof value === "function" || typeof value === "symbol") {
    refuse(path, `is a ${typeof value}, which cannot be stored`);
  }
  if (hasPath(value)) walk.countPath();
  if (typeof value !== "object" || value === null) return;
  if (open.size >= MAX_DEPTH) refuse([], `is nested deeper than ${MAX_DEPTH} levels`);
  if (open.has(value)) refuse(path, "contains itself, which cannot be stored");
  open.add(value);
  for (const [key, inner] of insideOf(value, path)) {
    walk.enter(key);
    checkValue(inner, walk);
    walk.leave();
  }
  open.delete(value);
}

/** Whether superjson writes down where a value is. */
function hasPath(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value) || Object.is(value, -0);
  if (typeof value !== "object" || value === null) return value === undefined || typeof value === "bigint";
  return !Array.isArray(value) && (!isPlainObject(value) || Object.keys(value).some(isDifficult));
}

/** What an object holds, by the name it has in a path. */
function insideOf(value: object, path: readonly string[]): readonly (readonly [string, unknown])[] {
  if (value instanceof Error) return "cause" in value ? [["cause", value.cause]] : [];
  if (isCarriedObject(value)) return [];
  if (Array.isArray(value)) {
    if (Object.keys(value).some((key) => !/^\d+$/.test(key))) {
      refuse(path, "is an array with named properties, which cannot be stored");
    }
    if (value.length - Object.keys(value).length > MAX_HOLES) {
      refuse(path, `is an array with more than ${MAX_HOLES} holes, which cannot be stored`);
    }
    return indexed(value);
  }
  if (types.isMap(value) && Object.getPrototypeOf(value) === Map.prototype) {
    return indexed([...value.keys(), ...value.values()]);
  }
  if (types.isSet(value) && Object.getPrototypeOf(value) === Set.prototype) return indexed([...value]);
  if (!isPlainObject(value)) {
    refuse(
      path,
      `is an instance of ${value.constructor?.name || "a class"}, which cannot be stored; pass a plain object`,
    );
  }
  if (Object.getOwnPropertySymbols(value).length > 0)
    refuse(path, "has a symbol as key, which cannot be stored");
  return Object.entries(value);
}

function indexed(values: readonly unknown[]): [string, unknown][] {
  return Array.from(values, (value, index) => [`[${index}]`, value]);
}

/**
 * A copy that superjson carries: holes filled with undefined, objects with difficult keys as
 * {@link Entries}.
 */
function toCarried(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return Array.from(value, toCarried);
  if (types.isMap(value))
    return new Map(Array.from(value, ([key, inner]) => [toCarried(key), toCarried(inner)]));
  if (types.isSet(value)) return new Set(Array.from(value, toCarried));
  if (value instanceof Error) {
    const copy =
      "cause" in value
        ? new Error(value.message, { cause: toCarried(value.cause) })
        : new Error(value.message);
    copy.name = value.name;
    return copy;
  }
  if (isCarriedObject(value))
    return Object.getPrototypeOf(value) === Date.prototype ? new Date(value as Date) : value;
  const pairs = Object.entries(value).map(([key, inner]): [string, unknown] => [key, toCarried(inner)]);
  return pairs.some(([key]) => isDifficult(key)) ? Entries.from(pairs) : Object.fromEntries(pairs);
}

/**
 * Throws for what superjson reads and `encode` never writes: its typed arrays, which have as many elements as a number says,
 * and its shared references, of which values can be made that contain themselves.
 *
 * @param meta.values superjson's tree of types: a node is an object of nodes, or an array of a type and such an object.
 */
function refuseForeign(meta: { readonly values?: unknown; readonly referentialEqualities?: unknown }): void {
  if (meta.referentialEqualities !== undefined) throw new TypeError("shared references are not carried");
  const open = [meta.values];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const [type, inside] = Array.isArray(node) ? node : [undefined, node];
    if (Array.isArray(type) && type[0] !== "custom") throw new TypeError("unknown kind of value");
    if (typeof inside === "object" && inside !== null) open.push(...Object.values(inside));
  }
}

/**
 * The codec used where no other is given: plain JSON where the value is plain JSON, superjson for the rest.
 *
 * Carries all that JSON does, and Date, Map, Set, bigint, undefined, NaN, infinities, -0, URL, RegExp, Error (name,
 * message and cause), ArrayBuffer and typed arrays (as base64), nested up to 1,000 levels, under any key; not where these
 * are so deep in each other that their paths take more than 1 MiB and 256 characters for each. A Buffer comes back as a
 * Uint8Array, a hole in an array as undefined, a shared object as copies.
 */
export const jsonCodec = Object.freeze({
  encode(value: unknown): string {
    if (isPlainJson(value, 1)) return JSON.stringify(value);
    checkValue(value, new Walk());
    const { json, meta } = superjson.serialize(toCarried(value));
    // Its record of shared references: reads give copies, and it takes equal bigints for one object.
    delete meta?.referentialEqualities;
    return SUPERJSON_MARK + JSON.stringify({ json, meta });
  },
  decode(text: string): unknown {
    if (!text.startsWith(SUPERJSON_MARK)) return JSON.parse(text);
    const carried = JSON.parse(text.slice(1));
    refuseForeign(carried.meta ?? {});
    return superjson.deserialize(carried, { inPlace: true });
  },
}) satisfies Codec;
