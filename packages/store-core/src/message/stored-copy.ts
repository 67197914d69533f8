import { jsonCodec } from "../codec/codec.ts";
import { StoreError } from "../errors.ts";

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
