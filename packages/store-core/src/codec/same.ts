import { isPlainObject } from "../arguments.ts";
import { jsonCodec } from "./codec.ts";

/** Whether two values have the same content. Objects of a class that the {@link jsonCodec} does not support equal only themselves. */
export function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((value, index) => isSame(value, other[index]));
  if (isPlainObject(one) === undefined && isPlainObject(other) === undefined)
    return haveSameFields(one as Fields, other as Fields);
  try {
    return jsonCodec.encode(one) === jsonCodec.encode(other);
  } catch {
    return false;
  }
}

type Fields = Readonly<Record<string, unknown>>;

function haveSameFields(one: Fields, other: Fields): boolean {
  const names = Object.keys(one);
  const isIn = (name: string) => Object.hasOwn(other, name) && isSame(one[name], other[name]);
  return names.length === Object.keys(other).length && names.every(isIn);
}
