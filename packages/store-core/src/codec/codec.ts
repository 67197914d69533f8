import { hasNamedProperty } from "#runtime";
import { invalid } from "../arguments.ts";
import { fieldsOf, isError } from "../error-fields.ts";
import { StoreError } from "../errors.ts";
import { isBuiltIn, isClassPrototype, isMap, isRegExp, isSet, isTypedArray, isUrl } from "./built-in.ts";
import { MAX_DEPTH, parsePlain, toPlain } from "./plain-json.ts";
import type { RecordLocation, RecordWrite } from "./record-location.ts";
import { fromTypedJson, isDifficult, toTypedJson } from "./typed-json.ts";

/**
 * Converts a message or a thread's metadata to text and back.
 *
 * `encode` returns well-formed Unicode of at least one character: the same text for the same value of the same write. It
 * throws a StoreError: `INVALID_ARGUMENT` for a value that `decode` could not restore, `TOO_LARGE` for a value beyond a
 * limit of the codec. The messages of a write with an `operationId` are encoded a second time, with `createdAt` 0, to recognise the
 * write if it is repeated later; that text is not stored. `decode` returns a new value each time and throws for text that `encode` did not write. The message
 * of a StoreError that it throws becomes part of the `CORRUPT` error. A codec that does not bind its text to a location
 * ignores the second argument.
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

/** The codec with a check of its texts: `encode` throws `INVALID_ARGUMENT` if the given one does not return well-formed text. */
export function checkedCodec(codec: Codec): Codec {
  // JSON.stringify always returns well-formed text.
  if (codec === jsonCodec) return codec;
  return {
    encode(value, write) {
      const text: unknown = codec.encode(value, write);
      return typeof text === "string" && text !== "" && text.isWellFormed()
        ? text
        : invalid("codec.encode must return non-empty, well-formed text");
    },
    decode: (text, location) => codec.decode(text, location),
  };
}

/**
 * The whole path to each value that JSON does not support is written. For deeply nested values of this kind, size
 * and time are quadratic. Values whose paths exceed this limit are refused.
 */
const MAX_PATHS = { characters: 1024 ** 2, perValue: 256 };
/** The maximum number of holes in an array. A hole takes no memory, but its replacement does. */
const MAX_HOLES = 100_000;
/** The first character of the text of {@link toTypedJson}. JSON never begins with it. */
const TYPED_MARK = "~";

function refuse(path: readonly string[], problem: string): never {
  throw new StoreError("INVALID_ARGUMENT", `${path.join("") || "the value"} ${problem}`);
}

/** Whether an object has no class, in any realm. */
function isPlainObject(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Whether a value of a built-in class has an added property. */
function hasAddedProperty(value: object): boolean {
  if (isTypedArray(value)) return hasNamedProperty(value);
  return Reflect.ownKeys(value).length > (isRegExp(value) ? 1 : 0);
}

/** The state of a walk through a value. */
class Walk {
  readonly path: string[] = [];
  /** The objects that are being walked, to find cycles. */
  readonly open = new Set<object>();
  readonly maxDepth: number;
  #characters = 0;
  #values = 0;
  #inPaths = 0;

  constructor(maxDepth: number) {
    this.maxDepth = maxDepth;
  }

  enter(key: string): void {
    this.path.push(this.path.length === 0 || key.startsWith("[") ? key : `.${key}`);
    this.#characters += this.path.at(-1)?.length ?? 0;
  }

  leave(): void {
    this.#characters -= this.path.pop()?.length ?? 0;
  }

  /** Counts a value whose path is written. @throws StoreError `INVALID_ARGUMENT` beyond the limit. */
  countPath(): void {
    this.#values += 1;
    this.#inPaths += this.#characters;
    const { characters, perValue } = MAX_PATHS;
    if (this.#inPaths > characters + perValue * this.#values) {
      refuse([], "has too many nested values that JSON does not support (Date, Map, undefined, ...)");
    }
  }
}

/** Refuses a value that cannot be stored. @throws StoreError `INVALID_ARGUMENT`; the message names the path. */
function checkValue(value: unknown, walk: Walk): void {
  const { path, open, maxDepth } = walk;
  if (typeof value === "function" || typeof value === "symbol") {
    refuse(path, `is a ${typeof value}, which cannot be stored`);
  }
  if (hasPath(value)) walk.countPath();
  if (typeof value !== "object" || value === null) return;
  if (open.size >= maxDepth) refuse([], `is nested deeper than ${maxDepth} levels`);
  if (open.has(value)) refuse(path, "contains itself, which cannot be stored");
  open.add(value);
  for (const [key, inner] of insideOf(value, path)) {
    walk.enter(key);
    checkValue(inner, walk);
    walk.leave();
  }
  open.delete(value);
}

/** Whether the path of a value is written. */
function hasPath(value: unknown): boolean {
  if (typeof value === "number") return !Number.isFinite(value) || Object.is(value, -0);
  if (typeof value !== "object" || value === null) return value === undefined || typeof value === "bigint";
  return !Array.isArray(value) && (!isPlainObject(value) || Object.keys(value).some(isDifficult));
}

/** The inner values of an object, each with its name in a path. */
function insideOf(value: object, path: readonly string[]): readonly (readonly [string, unknown])[] {
  if (isError(value)) {
    const { name, message, code, ...inside } = fieldsOf(value);
    return Object.entries(inside);
  }
  if (isUrl(value)) {
    // The URL of another realm may keep its state under a hidden symbol.
    if (Reflect.ownKeys({ ...value }).some((key) => !urlKeys.has(key))) refuseProperties(value, path);
    return [];
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    refuse(path, "has a symbol as key, which cannot be stored");
  }
  if (Array.isArray(value)) return elementsOf(value, path);
  if (isPlainObject(value)) return Object.entries(value);
  if (!isBuiltIn(value)) refuseInstance(value, path);
  if (hasAddedProperty(value)) refuseProperties(value, path);
  if (isMap(value)) return indexed([...value.keys(), ...value.values()]);
  return isSet(value) ? indexed([...value]) : [];
}

/** Deno's URLs have an enumerable symbol. */
const urlKeys: ReadonlySet<PropertyKey> = new Set(Reflect.ownKeys({ ...new URL("about:blank") }));

function elementsOf(value: readonly unknown[], path: readonly string[]): [string, unknown][] {
  if (!isClassPrototype("Array", Object.getPrototypeOf(value))) refuseInstance(value, path);
  const keys = Object.keys(value);
  if (keys.some((key) => !/^\d+$/.test(key))) {
    refuse(path, "is an array with named properties, which cannot be stored");
  }
  if (value.length - keys.length > MAX_HOLES) {
    refuse(path, `is an array with more than ${MAX_HOLES} holes, which cannot be stored`);
  }
  return indexed(value);
}

function refuseProperties(value: object, path: readonly string[]): never {
  return refuse(path, `is a ${value.constructor.name} with named properties, which cannot be stored`);
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
 * The default codec: plain JSON for values that JSON supports, the format of superjson for others. A property whose value is undefined
 * is written in plain JSON too: as null, listed by its object under the key `~undefined`.
 *
 * Supports everything that JSON supports, and Date, Map, Set, bigint, undefined, NaN, infinities, -0, URL, RegExp (with `lastIndex` 0),
 * ArrayBuffer and typed arrays (as base64), nested up to 1,000 levels, under any key. The paths of these values may take
 * 1 MiB plus 256 characters for each value. A Buffer is returned as a Uint8Array, a hole in an array as undefined, a
 * shared object as copies. An Error keeps its name, message and cause, a `code` that is a string or a number, and the
 * `errors` of an AggregateError. Its other properties are omitted, because they may be secrets. Values of another realm, such
 * as `node:vm` or a test runner, are returned as those of this one. Other class instances, symbol keys, and named properties of arrays,
 * dates, maps, sets, bytes and the like are `INVALID_ARGUMENT`. `decode` also reads some texts that `encode` would write otherwise, always as a value
 * that it could have written.
 */
export const jsonCodec = Object.freeze({
  encode: (value: unknown): string => encodeJson(value, 0),
  decode(text: string): unknown {
    if (!text.startsWith(TYPED_MARK)) return parsePlain(text);
    return fromTypedJson(JSON.parse(text.slice(1)));
  },
}) satisfies Codec;

function encodeJson(value: unknown, wrapped: number): string {
  const plain = toPlain(value, 1 - wrapped);
  if (plain !== undefined) return JSON.stringify(plain);
  checkValue(value, new Walk(MAX_DEPTH + wrapped));
  return TYPED_MARK + JSON.stringify(toTypedJson(value));
}

/** The number of levels in which {@link encodeWrapped} accepts stored values. */
const MAX_WRAPPED = 8;

/** The text of the {@link jsonCodec} for a value that has stored values, of the deepest nesting, within up to 8 levels of its own. */
export function encodeWrapped(value: unknown): string {
  return encodeJson(value, MAX_WRAPPED);
}

/**
 * Copies a value as a read of a store returns it, so that the caller may change the original while a write waits. Unlike
 * `structuredClone` it does not turn class instances into plain objects.
 *
 * @param what names the value in errors.
 * @throws StoreError `INVALID_ARGUMENT` for a value that cannot be stored; the message names its place in the value.
 */
export function storedCopy<T>(what: string, value: T): T {
  try {
    return jsonCodec.decode(jsonCodec.encode(value)) as T;
  } catch (cause) {
    const problem = StoreError.is(cause) ? cause.message : "cannot be read";
    throw new StoreError("INVALID_ARGUMENT", `${what}: ${problem}`, { cause });
  }
}
