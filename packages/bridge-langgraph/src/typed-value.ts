import { randomUUID } from "node:crypto";
import { JsonPlusSerializer, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { StoreError } from "@scrollback/store-core";

/** The size of a message, in characters of text or in bytes, that every backend accepts. */
const PART = { text: 1_024 ** 2, bytes: 2 * 1_024 ** 2 };

/** A value in the form of LangGraph's serializer: text if the serializer returned UTF-8, so that it needs no base64. */
export interface TypedValue {
  readonly type: string;
  readonly data: string | Uint8Array;
}

/** A value that is stored in parts, as separate messages. */
export interface ValueInParts {
  readonly type: string;
  /** Random; identifies the value. */
  readonly id: string;
  readonly parts: number;
}

/** One part of a value, a message in a thread of attachments. */
export interface ValuePart {
  readonly kind: "part";
  readonly id: string;
  readonly index: number;
  readonly data: string | Uint8Array;
}

/** The parts that were read, by the id of their value. */
export type PartsById = ReadonlyMap<string, readonly ValuePart[]>;

/**
 * Serializes a value.
 *
 * @param what names the value in errors.
 * @throws StoreError `INVALID_ARGUMENT` for a value that LangGraph's serializer cannot serialize; the error of another one.
 */
export async function encodeValue(
  serde: SerializerProtocol,
  value: unknown,
  what: string,
): Promise<TypedValue> {
  const [type, bytes] = await serde.dumpsTyped(value).catch((error: unknown) => {
    throw serde instanceof JsonPlusSerializer ? unserializable(what, error) : error;
  });
  const data = type === "bytes" ? bytes : (textOf(bytes) ?? bytes);
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

/** Restores a serialized value. */
export async function decodeValue<T = unknown>(serde: SerializerProtocol, value: TypedValue): Promise<T> {
  const { type, data } = value;
  return (await serde.loadsTyped(
    type,
    typeof data === "string" ? new TextEncoder().encode(data) : data,
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

/** The approximate size of a value, in characters or bytes. */
export function sizeOf({ data }: TypedValue): number {
  return data.length;
}

/** Cuts a value into parts. */
export function splitValue({ type, data }: TypedValue): { value: ValueInParts; parts: ValuePart[] } {
  const id = randomUUID();
  const parts: ValuePart[] = [];
  const length = typeof data === "string" ? PART.text : PART.bytes;
  for (let start = 0; start < data.length; start += length)
    parts.push({ kind: "part", id, index: parts.length, data: data.slice(start, start + length) });
  return { value: { type, id, parts: parts.length }, parts };
}

/** Joins a value from its parts. @throws StoreError `CORRUPT` if one is missing: the value never reads as absent. */
export function joinValue({ type, id, parts: count }: ValueInParts, parts: PartsById): TypedValue {
  const found = new Map((parts.get(id) ?? []).map(({ index, data }) => [index, data]));
  const data = Array.from({ length: count }, (_, index) => found.get(index));
  if (data.every((part) => typeof part === "string")) return { type, data: data.join("") };
  if (data.every((part) => part instanceof Uint8Array)) {
    const { buffer, byteOffset, length } = Buffer.concat(data);
    return { type, data: new Uint8Array(buffer, byteOffset, length) };
  }
  throw new StoreError(
    "CORRUPT",
    `getTuple: a value of a checkpoint is missing (${found.size} of ${count} parts)`,
  );
}
