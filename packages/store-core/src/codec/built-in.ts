/** Reads the name of a typed array's class, whatever its own properties and its prototype are. */
const nameOfTypedArray = Object.getOwnPropertyDescriptor(
  Object.getPrototypeOf(Uint8Array.prototype),
  Symbol.toStringTag,
)?.get as (this: object) => string | undefined;

/** Whether a value was made by the built-in class of this name, of any realm. `read` throws for what has not the class's internal slots. */
function isMadeBy(name: string, read: (this: never) => unknown, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  try {
    // First, because an error takes long.
    if (Object.prototype.toString.call(value) !== `[object ${name}]`) return false;
    Reflect.apply(read, value, []);
    return true;
  } catch {
    return false;
  }
}

const getterOf = (prototype: object, property: string) =>
  Object.getOwnPropertyDescriptor(prototype, property)?.get as (this: never) => unknown;
const [sizeOfMap, sizeOfSet, sourceOf, lengthOf] = [
  getterOf(Map.prototype, "size"),
  getterOf(Set.prototype, "size"),
  getterOf(RegExp.prototype, "source"),
  getterOf(ArrayBuffer.prototype, "byteLength"),
];

export const isDate = (value: unknown): value is Date => isMadeBy("Date", Date.prototype.getTime, value);
export const isMap = (value: unknown): value is Map<unknown, unknown> => isMadeBy("Map", sizeOfMap, value);
export const isSet = (value: unknown): value is Set<unknown> => isMadeBy("Set", sizeOfSet, value);
export const isRegExp = (value: unknown): value is RegExp => isMadeBy("RegExp", sourceOf, value);
export const isArrayBuffer = (value: unknown): value is ArrayBuffer =>
  isMadeBy("ArrayBuffer", lengthOf, value);
export const isTypedArray = (value: unknown): value is NodeJS.TypedArray =>
  typeof value === "object" && value !== null && nameOfTypedArray.call(value) !== undefined;
export const isUint8Array = (value: unknown): value is Uint8Array =>
  isTypedArray(value) && nameOfTypedArray.call(value) === "Uint8Array";

/** Whether a value was made by a built-in class of errors, of any realm. */
export const isNativeError = (value: unknown): value is Error =>
  typeof value === "object" &&
  value !== null &&
  // Only then the text shows the internal slot.
  !(Symbol.toStringTag in value) &&
  Object.prototype.toString.call(value) === "[object Error]";

/** The prototype of Node's Buffers, where there are any. */
const bufferPrototype: unknown = Reflect.get(globalThis, "Buffer")?.prototype;

/** The built-in class that made a value, of any realm: of `node:vm` and of test runners too. Undefined for those that are not carried. */
function classOf(value: object): string | undefined {
  if (isDate(value)) return "Date";
  if (isMap(value)) return "Map";
  if (isSet(value)) return "Set";
  if (isRegExp(value)) return "RegExp";
  return isArrayBuffer(value) ? "ArrayBuffer" : nameOfTypedArray.call(value);
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
  return (prototype !== null && prototype === bufferPrototype) || isClassPrototype(name, prototype);
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
