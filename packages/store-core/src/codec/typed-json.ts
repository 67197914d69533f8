import { decodeBase64, encodeBase64 } from "#runtime";
import { type ErrorFields, fieldsOf, isError, makeError } from "../error-fields.ts";
import { isArrayBuffer, isDate, isMap, isRegExp, isSet, isTypedArray, isUrl } from "./built-in.ts";
import { escapedKey } from "./plain-json.ts";

/** Keys that cannot be in a path: superjson refuses them, or would need an escape. */
const notInPath = /[.\\]|^(?:__proto__|constructor|prototype)$/;
export const isDifficult = (key: string) => escapedKey.test(key) || notInPath.test(key);

const typedArray = /^(?:(?:Big)?(?:Int|Uint)(?:8|16|32|64)|Uint8Clamped|Float(?:16|32|64))Array$/;

/** What JSON does not show of a value: the name of its type, and the nodes within it by their paths. */
type Node = readonly [type: string | readonly ["custom", string], inside?: Nodes];
type Nodes = Readonly<Record<string, Node>>;
type Fields = Record<string, unknown>;

/** A value in the format of superjson 2. */
export interface TypedJson {
  readonly json: unknown;
  readonly meta?: { readonly values: Node | Nodes; readonly v: 1 };
}

/** Represents a value that JSON does not support. Its kinds, also of values within it, were checked. */
export function toTypedJson(value: unknown): TypedJson {
  const { json, values } = written(value);
  return values ? { json, meta: { values, v: 1 } } : { json };
}

interface Written {
  readonly json: unknown;
  readonly values?: Node | Nodes;
}

function written(value: unknown): Written {
  if (value === undefined) return leaf("undefined", null);
  if (typeof value === "bigint") return leaf("bigint", String(value));
  if (typeof value === "number") {
    if (Object.is(value, -0)) return leaf("number", "-0");
    return Number.isFinite(value) ? { json: value } : leaf("number", String(value));
  }
  if (typeof value !== "object" || value === null) return { json: value };
  // Filled where it has holes.
  if (Array.isArray(value)) return container(Array.from(value));
  if (isMap(value)) return container([...value], "map");
  if (isSet(value)) return container([...value], "set");
  if (isError(value)) return container(errorToJson(value), ["custom", "error"]);
  if (isDate(value))
    return Number.isNaN(value.getTime())
      ? leaf(["custom", "invalid-date"], null)
      : leaf("Date", value.toISOString());
  if (isRegExp(value)) return leaf("regexp", String(value));
  if (isUrl(value)) return leaf("URL", value.href);
  if (isTypedArray(value) || isArrayBuffer(value)) return leaf(["custom", "bytes"], bytesToJson(value));
  const pairs = Object.entries(value);
  return pairs.some(([key]) => isDifficult(key))
    ? container(pairs, ["custom", "entries"])
    : container(value as Fields);
}

function leaf(type: Node[0], json: unknown): Written {
  return { json, values: [type] };
}

/** An array or a plain object, which may represent a value of a type. */
function container(inner: object, type?: Node[0]): Written {
  const json = (Array.isArray(inner) ? [] : {}) as Fields;
  const values: Record<string, Node> = {};
  let isPlain = true;
  for (const [key, value] of Object.entries(inner)) {
    const made = written(value);
    json[key] = made.json;
    if (!made.values) continue;
    isPlain = false;
    if (isNode(made.values)) values[key] = made.values;
    else for (const [path, node] of Object.entries(made.values)) values[`${key}.${path}`] = node;
  }
  if (type === undefined) return isPlain ? { json } : { json, values };
  return { json, values: isPlain ? [type] : [type, values] };
}

function isNode(values: Node | Nodes): values is Node {
  return Array.isArray(values);
}

function errorToJson(error: Error): object {
  const { name, message, ...more } = fieldsOf(error);
  const isPlain = more.code === undefined && more.errors === undefined;
  // A list if there is only a cause, the usual case.
  return isPlain ? [name, message, ...Object.values(more)] : { name, message, ...more };
}

function bytesToJson(value: ArrayBuffer | NodeJS.TypedArray): [type: string, base64: string] {
  if (isArrayBuffer(value)) return ["ArrayBuffer", encodeBase64(new Uint8Array(value))];
  const { buffer, byteOffset, byteLength } = value;
  // A Buffer's is that of a Uint8Array.
  const type = Object.prototype.toString.call(value).slice(8, -1);
  return [type, encodeBase64(new Uint8Array(buffer, byteOffset, byteLength))];
}

/**
 * The value of {@link toTypedJson}, made of the given JSON. Throws for other input, also for what superjson would read: shared references
 * can produce values that contain themselves, and typed arrays a length that is only a number.
 */
export function fromTypedJson(typed: {
  readonly json?: unknown;
  readonly meta?: { readonly values?: unknown; readonly referentialEqualities?: unknown };
}): unknown {
  const { values = {}, referentialEqualities } = typed.meta ?? {};
  if (referentialEqualities !== undefined) throw new TypeError("shared references are not carried");
  return isNode(values as Node | Nodes)
    ? valueOfNode(values as Node, typed.json)
    : withValues(values as Nodes, typed.json);
}

function valueOfNode([type, inside]: Node, json: unknown): unknown {
  const name = Array.isArray(type) && type[0] === "custom" ? `custom ${type[1]}` : type;
  const read = typeof name === "string" && Object.hasOwn(readers, name) ? readers[name] : undefined;
  if (!read) throw new TypeError("unknown kind of value");
  return read((inside ? withValues(inside, json) : json) as never);
}

/** Replaces what represents a value in an array or object by the value. */
function withValues(nodes: Nodes, json: unknown): unknown {
  for (const [path, node] of Object.entries(nodes)) {
    const keys = path.split(".");
    const last = keys.pop() ?? "";
    const owner = keys.reduce(fieldOf, json);
    const field = fieldOf(owner, last);
    (owner as Fields)[last] = valueOfNode(node, field);
  }
  return json;
}

/** @throws TypeError for what is no own field. */
function fieldOf(owner: unknown, key: string): unknown {
  // Not the length of an array, which is its own too.
  if (typeof owner === "object" && owner !== null && Object.prototype.propertyIsEnumerable.call(owner, key))
    return (owner as Fields)[key];
  throw new TypeError("a path leads nowhere");
}

const readers: Readonly<Record<string, (json: never) => unknown>> = {
  undefined: () => undefined,
  bigint: (json: string) => BigInt(json),
  number: Number,
  Date: (json: string) => new Date(json),
  map: (json: [unknown, unknown][]) => new Map(json),
  set: (json: unknown[]) => new Set(json),
  URL: (json: string) => new URL(json),
  regexp(json: string) {
    const end = json.lastIndexOf("/");
    return new RegExp(json.slice(1, end), json.slice(end + 1));
  },
  "custom entries": (json: [string, unknown][]) => Object.fromEntries(json),
  "custom invalid-date": () => new Date(Number.NaN),
  "custom bytes"([type, base64]: [string, unknown]) {
    // Other values may claim a wrong length.
    const decoded = typeof base64 === "string" ? decodeBase64(base64) : undefined;
    if (!decoded) throw new TypeError("bytes must be base64");
    const bytes = Uint8Array.from(decoded).buffer;
    if (type === "ArrayBuffer") return bytes;
    // Float16Array is not in Node 22.
    const TypedArray = typedArray.test(type) ? Reflect.get(globalThis, type) : undefined;
    if (!TypedArray) throw new TypeError("unknown kind of bytes");
    return new TypedArray(bytes);
  },
  "custom error"(json: ErrorFields | readonly unknown[]) {
    if (!Array.isArray(json)) return makeError(json as ErrorFields);
    const [name, message, ...cause] = json as [string, string, ...unknown[]];
    return makeError({ name, message, ...(cause.length > 0 && { cause: cause[0] }) });
  },
};
