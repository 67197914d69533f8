import { types } from "node:util";
import { JsonPlusSerializer, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StoreError } from "@scrollback/store-core";

/** A value in the form of LangGraph's serializer: text if the serializer returned UTF-8, so that it needs no base64. */
export interface TypedValue {
  readonly type: string;
  readonly data: string | Uint8Array;
}

/**
 * Serializes a value. Shares no memory with it: the caller may change an array of bytes in place as soon as the call has returned a
 * promise, and a saver compares the next value with this one.
 *
 * @param what names the value in errors.
 * @throws StoreError `INVALID_ARGUMENT` for a value that LangGraph's serializer cannot serialize; the error of another one.
 */
export async function encodeValue(
  serde: SerializerProtocol,
  value: unknown,
  what: string,
): Promise<TypedValue> {
  // LangGraph's serializer returns the given array.
  const given = types.isUint8Array(value) ? new Uint8Array(value) : value;
  const [type, bytes] = await serde.dumpsTyped(given).catch((error: unknown) => {
    throw serde instanceof JsonPlusSerializer ? unserializable(what, error) : error;
  });
  const text = type === "bytes" ? undefined : textOf(bytes);
  const data = text ?? (bytes === given ? bytes : new Uint8Array(bytes));
  if (typeof data === "string" && typeof value !== "string" && data === (await replacement()))
    throw unserializable(what, problemOf(value));
  // Of a function or a symbol it makes nothing, which it cannot read.
  if (serde instanceof JsonPlusSerializer && data.length === 0 && type === "json")
    throw unserializable(what, undefined);
  return { type, data };
}

let learned: Promise<string> | undefined;

/** The text that LangGraph's serializer returns, without an error, for every value that it cannot serialize. */
function replacement(): Promise<string> {
  learned ??= new JsonPlusSerializer()
    .dumpsTyped(0n)
    .then(([, bytes]) => new TextDecoder().decode(bytes))
    .catch(() => "");
  return learned;
}

/** Why a value has no JSON, if that is the reason. */
function problemOf(value: unknown): unknown {
  try {
    JSON.stringify(value);
    return undefined;
  } catch (error) {
    return error;
  }
}

function unserializable(what: string, cause: unknown): StoreError {
  const problem = cause instanceof Error ? ` (${cause.message})` : "";
  return new StoreError(
    "INVALID_ARGUMENT",
    `${what} cannot be serialized${problem}; leave the value out, convert it (a BigInt to a string), or pass another serde`,
    { cause },
  );
}

/** Restores a serialized value. Shares no memory with it, so the caller may change what it got. */
export async function decodeValue<T = unknown>(serde: SerializerProtocol, value: TypedValue): Promise<T> {
  const { type, data } = value;
  return (await serde.loadsTyped(
    type,
    typeof data === "string" ? new TextEncoder().encode(data) : new Uint8Array(data),
  )) as T;
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    // For example, the output of a serializer that encrypts.
    return undefined;
  }
}
