import { inspect, types } from "node:util";

// Equality as clause C8 defines it. Matchers of test frameworks are similar, but they treat an own key "constructor" as
// the class of an object, or compare the class of an error. The clause promises only name, message, cause, code and errors.

/**
 * The first difference of two values: a path and both sides, as readable text; undefined if they are equal. Types, signs of zero,
 * absence, and order in maps and sets count; the order of an object's keys does not.
 */
export function differenceOf(actual: unknown, expected: unknown, path = "value"): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  const differ = () => `${path} is ${inspect(actual, { depth: 1 })}, not ${inspect(expected, { depth: 1 })}`;
  if (typeof actual !== "object" || typeof expected !== "object" || actual === null || expected === null) {
    return differ();
  }
  if (expected instanceof Error) {
    if (!(actual instanceof Error)) return differ();
    return differenceOf(fieldsOf(actual), fieldsOf(expected), path);
  }
  if (Object.getPrototypeOf(actual) !== Object.getPrototypeOf(expected)) return differ();
  const [one, other] = [partsOf(actual), partsOf(expected)];
  if (typeof one === "string" || typeof other === "string") return one === other ? undefined : differ();
  if (one.size !== other.size) return differ();
  for (const [key, part] of other) {
    if (!one.has(key)) return `${differ()} (${inspect(key)} is missing)`;
    const difference = differenceOf(one.get(key), part, `${path}[${inspect(key)}]`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

const fieldsOf = (error: Error) => ({
  name: error.name,
  message: error.message,
  ...("cause" in error && { cause: error.cause }),
  ...("code" in error && { code: error.code }),
  ...("errors" in error && { errors: error.errors }),
});

/** The content of an object: all of it as text, or its parts by key or index. */
function partsOf(value: object): string | Map<unknown, unknown> {
  if (types.isDate(value)) return `${value.getTime()}`;
  if (types.isRegExp(value)) return `${value.source}/${value.flags}/${value.lastIndex}`;
  if (value instanceof URL) return value.href;
  if (types.isAnyArrayBuffer(value)) return Buffer.from(value).toString("hex");
  if (ArrayBuffer.isView(value)) {
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("hex");
  }
  if (types.isSet(value)) return new Map(Array.from(value).entries());
  if (types.isMap(value)) return new Map(Array.from(value).entries());
  const own = Reflect.ownKeys(value).map((key) => [key, Reflect.get(value, key)] as const);
  return new Map(own);
}
