import { types } from "node:util";

/** Reads the name of a typed array's class, whatever its own properties and its prototype are. */
const nameOfTypedArray = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as (this: object) => string | undefined;

/** The built-in class that made a value, of any realm: of `node:vm` and of test runners too. Undefined for those that are not carried. */
function classOf(value: object): string | undefined {
  if (types.isDate(value)) return "Date";
  if (types.isMap(value)) return "Map";
  if (types.isSet(value)) return "Set";
  if (types.isRegExp(value)) return "RegExp";
  return types.isArrayBuffer(value) ? "ArrayBuffer" : nameOfTypedArray.call(value);
}

/** Whether an object is the prototype of a built-in class, of any realm: not of a subclass, whose instances have more than is carried. */
export function isClassPrototype(name: string, prototype: object | null): boolean {
  if (prototype === null) return false;
  const own: { readonly prototype?: unknown } | undefined = Reflect.get(globalThis, name);
  if (prototype === own?.prototype) return true;
  const made = prototype.constructor;
  return (
    typeof made === "function" &&
    made.prototype === prototype &&
    Function.prototype.toString.call(made) === `function ${name}() { [native code] }`
  );
}

/** Whether a value is a Date, Map, Set, RegExp, ArrayBuffer, typed array or Buffer of any realm, and of no subclass. */
export function isBuiltIn(value: object): boolean {
  const name = classOf(value);
  if (name === undefined) return false;
  const prototype: object | null = Object.getPrototypeOf(value);
  return prototype === Buffer.prototype || isClassPrototype(name, prototype);
}

/** Whether a value is a URL of Node.js, or of another realm with an implementation of its own, such as jsdom's. Not of a subclass. */
export function isUrl(value: unknown): value is URL {
  if (typeof value !== "object" || value === null) return false;
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === URL.prototype) return true;
  if (prototype === null || !Object.hasOwn(prototype, Symbol.toStringTag)) return false;
  const { href, [Symbol.toStringTag]: tag } = value as Partial<Record<"href" | symbol, unknown>>;
  return tag === "URL" && Object.hasOwn(prototype, "href") && typeof href === "string" && URL.canParse(href);
}
