import { isDeepStrictEqual, types } from "node:util";
import { invalid } from "./arguments.ts";
import { fieldsOf, isError, makeError } from "./error-fields.ts";
import { StoreError } from "./errors.ts";
import { MAX_DEPTH, parsePlain, stringifyPlain } from "./plain-json.ts";
import type { RecordLocation, RecordWrite } from "./record-location.ts";
import { Entries, isDifficult, refuseForeign, superjson, typedArrays } from "./superjson-rules.ts";

/**
 * Turns a message (or a thread's metadata) into text and back.
 *
 * `encode` gives well-formed Unicode, the same text for the same value of the same write, at least one character. It
 * throws a StoreError `INVALID_ARGUMENT` for a value that `decode` could not bring back, `TOO_LARGE` for one past a limit
 * of its own. `decode` gives a fresh value each time and throws for text that `encode` did not write; the message of a
 * StoreError that it throws becomes part of the `CORRUPT` error. A codec that does not bind its text to a location ignores
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
  decode(text: string, location: RecordLocation): unknown;
}

/** What a codec makes of a value. @throws StoreError `INVALID_ARGUMENT` when that is no well-formed text. */
export function encodeText(codec: Codec, value: unknown, write: RecordWrite): string {
  // JSON.stringify gives nothing else.
  if (codec === jsonCodec) return jsonCodec.encode(value);
  const text: unknown = codec.encode(value, write);
  return typeof text === "string" && text !== "" && text.isWellFormed()
    ? text
    : invalid("codec.encode must return well-formed text that is not empty");
}

/**
 * superjson writes the whole path to each value that JSON has not. Where such values hold each other deep down, that is
 * quadratic in text and time: past so many characters, and so many more for each value, they are refused.
 */
const MAX_PATHS = { characters: 1024 ** 2, perValue: 256 };
/** Holes cost no memory, but what stands for them does: more than this is refused. */
const MAX_HOLES = 100_000;
/** What marks text that is superjson's; JSON never begins with it. */
const SUPERJSON_MARK = "~";

function refuse(path: readonly string[], problem: string): never {
  throw new StoreError("INVALID_ARGUMENT", `${path.join("") || "the value"} ${problem}`);
}

function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** The values of built-in classes that superjson (with the rules above) carries. */
function isCarriedObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (types.isTypedArray(value)) {
    const TypedArray = typedArrays.get(value[Symbol.toStringTag]);
    return prototype === Buffer.prototype || prototype === TypedArray?.prototype;
  }
  return (
    isError(value) ||
    (types.isArrayBuffer(value) && prototype === ArrayBuffer.prototype) ||
    (types.isDate(value) && prototype === Date.prototype) ||
    (types.isRegExp(value) && prototype === RegExp.prototype) ||
    (types.isMap(value) && prototype === Map.prototype) ||
    (types.isSet(value) && prototype === Set.prototype) ||
    (value instanceof URL && prototype === URL.prototype)
  );
}

/** Whether somebody has given a value of a built-in class a property. */
function hasAddedProperty(value: object): boolean {
  if (!types.isTypedArray(value)) return Reflect.ownKeys(value).length > (types.isRegExp(value) ? 1 : 0);
  const { buffer, byteOffset, byteLength, length } = value;
  const TypedArray = typedArrays.get(value[Symbol.toStringTag]) ?? Uint8Array;
  const same = Buffer.isBuffer(value)
    ? Buffer.from(buffer, byteOffset, byteLength)
    : new TypedArray(buffer as ArrayBuffer, byteOffset, length);
  // Each element has a key, too many to list. This compares the elements in one step, as they are, and the other keys.
  return !isDeepStrictEqual(value, same);
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
  if (isError(value)) {
    const { name, message, code, ...inside } = fieldsOf(value);
    return Object.entries(inside);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    refuse(path, "has a symbol as key, which cannot be stored");
  }
  if (Array.isArray(value)) return elementsOf(value, path);
  if (isPlainObject(value)) return Object.entries(value);
  if (!isCarriedObject(value)) refuseInstance(value, path);
  if (hasAddedProperty(value)) {
    refuse(path, `is a ${value.constructor.name} with named properties, which cannot be stored`);
  }
  if (types.isMap(value)) return indexed([...value.keys(), ...value.values()]);
  return types.isSet(value) ? indexed([...value]) : [];
}

function elementsOf(value: readonly unknown[], path: readonly string[]): [string, unknown][] {
  const prototype: unknown = Object.getPrototypeOf(value);
  // An Array.prototype, of whatever realm, is an array; a subclass' prototype is none.
  if (!Array.isArray(prototype)) refuseInstance(value, path);
  const keys = Object.keys(value);
  if (keys.some((key) => !/^\d+$/.test(key))) {
    refuse(path, "is an array with named properties, which cannot be stored");
  }
  if (value.length - keys.length > MAX_HOLES) {
    refuse(path, `is an array with more than ${MAX_HOLES} holes, which cannot be stored`);
  }
  return indexed(value);
}

function refuseInstance(value: object, path: readonly string[]): never {
  const name = value.constructor?.name || "a class";
  return refuse(
    path,
    `is an instance of ${name}, which cannot be stored; pass a plain object or a plain array`,
  );
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
  if (isError(value)) {
    const { cause, errors, ...fields } = fieldsOf(value);
    return makeError({
      ...fields,
      ...("cause" in value && { cause: toCarried(cause) }),
      ...(errors && { errors: Array.from(errors, toCarried) }),
    });
  }
  if (isCarriedObject(value))
    return Object.getPrototypeOf(value) === Date.prototype ? new Date(value as Date) : value;
  const pairs = Object.entries(value).map(([key, inner]): [string, unknown] => [key, toCarried(inner)]);
  return pairs.some(([key]) => isDifficult(key)) ? Entries.from(pairs) : Object.fromEntries(pairs);
}

/**
 * The codec used where no other is given: plain JSON where the value is plain JSON, superjson for the rest. A property
 * whose value is undefined keeps a value on the path of plain JSON: it is null there, and its object lists it under the key
 * `~undefined`.
 *
 * Carries all that JSON does, and Date, Map, Set, bigint, undefined, NaN, infinities, -0, URL, RegExp, ArrayBuffer and
 * typed arrays (as base64), nested up to 1,000 levels, under any key; not where these are so deep in each other that their
 * paths take more than 1 MiB and 256 characters for each. A Buffer comes back as a Uint8Array, a hole in an array as
 * undefined, a shared object as copies. An Error keeps its name, message and cause, a `code` that is a string or a number,
 * and the `errors` of an AggregateError; its other properties are left out, as they may be secrets. Any other object of a
 * class, a symbol as key, and named properties of arrays, dates, maps, sets, bytes and the like are `INVALID_ARGUMENT`.
 */
export const jsonCodec = Object.freeze({
  encode(value: unknown): string {
    const plain = stringifyPlain(value);
    if (plain !== undefined) return plain;
    checkValue(value, new Walk());
    const { json, meta } = superjson.serialize(toCarried(value));
    // Its record of shared references: reads give copies, and it takes equal bigints for one object.
    delete meta?.referentialEqualities;
    return SUPERJSON_MARK + JSON.stringify({ json, meta });
  },
  decode(text: string): unknown {
    if (!text.startsWith(SUPERJSON_MARK)) return parsePlain(text);
    const carried = JSON.parse(text.slice(1));
    refuseForeign(carried.meta ?? {});
    return superjson.deserialize(carried, { inPlace: true });
  },
}) satisfies Codec;
