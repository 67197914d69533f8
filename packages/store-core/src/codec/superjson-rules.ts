import { types } from "node:util";
import { SuperJSON } from "superjson";
import { type ErrorFields, fieldsOf, isError, makeError } from "../error-fields.ts";
import { decodeBase64 } from "./base64.ts";
import { escapedKey } from "./plain-json.ts";

/** Keys that superjson cannot write: it throws, or its paths would need an escape. */
const superjsonKey = /[.\\]|^(?:__proto__|constructor|prototype)$/;
export const isDifficult = (key: string) => escapedKey.test(key) || superjsonKey.test(key);

/** By name. */
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

/** Represents an object with keys that superjson or JSON does not support. An array, because superjson walks into arrays. */
export class Entries extends Array<[string, unknown]> {}

/** superjson, with additional rules for values that it loses or writes inefficiently. */
export const superjson = new SuperJSON();
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
            // A Buffer's is that of a Uint8Array.
            Object.prototype.toString.call(value).slice(8, -1),
            Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64"),
          ],
    deserialize: ([type, base64]) => {
      // Other values may claim a wrong length.
      const decoded = typeof base64 === "string" ? decodeBase64(base64) : undefined;
      if (!decoded) throw new TypeError("bytes must be base64");
      const bytes = Uint8Array.from(decoded).buffer;
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
    isApplicable: isError,
    serialize: (error) => {
      const { name, message, ...more } = fieldsOf(error);
      const isPlain = more.code === undefined && more.errors === undefined;
      // A list if there is only a cause, the usual case.
      return (isPlain ? [name, message, ...Object.values(more)] : { name, message, ...more }) as never;
    },
    deserialize: (stored: ErrorFields | readonly unknown[]) => {
      if (!Array.isArray(stored)) return makeError(stored as ErrorFields);
      const [name, message, ...cause] = stored as [string, string, ...unknown[]];
      return makeError({ name, message, ...(cause.length > 0 && { cause: cause[0] }) });
    },
  },
  "error",
);

/**
 * Throws for input that superjson reads but `encode` never writes: typed arrays whose length is a given number, and
 * shared references, which can produce values that contain themselves.
 *
 * @param meta.values superjson's tree of types: a node is an object of nodes, or an array of a type and such an object.
 */
export function refuseForeign(meta: {
  readonly values?: unknown;
  readonly referentialEqualities?: unknown;
}): void {
  if (meta.referentialEqualities !== undefined) throw new TypeError("shared references are not carried");
  const open = [meta.values];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    const [type, inside] = Array.isArray(node) ? node : [undefined, node];
    if (Array.isArray(type) && type[0] !== "custom") throw new TypeError("unknown kind of value");
    if (typeof inside === "object" && inside !== null) open.push(...Object.values(inside));
  }
}
