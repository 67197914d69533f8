import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { FIRST_ROW, type LogRow } from "@scrollback/record-log";
import { shardOf } from "./roots.ts";

/**
 * A row as an item of the table. Attribute names have one letter, because DynamoDB counts them in the item's size.
 *
 * - `s`, string: the stream, which is the thread id. The partition key.
 * - `n`, number: the row's number. The sort key.
 * - `h`, string: the head. Absent if it is empty.
 * - `c`, list of binaries: the texts in UTF-8. Absent if there are none or all were blanked.
 * - `x`, number: when DynamoDB may delete the item, in seconds since 1970. Absent: never.
 * - `r`, string: only in roots, the shard of the stream. The partition key of the index of streams; the sort key is `s`.
 */
export type Item = Record<string, AttributeValue>;

export const PARTITION_KEY = "s";
export const SORT_KEY = "n";
export const TTL_ATTRIBUTE = "x";
export const SHARD_ATTRIBUTE = "r";

/** An item has at most 400 KiB: the row, the key of at most 1.1 KiB, one byte per text, and a reserve. */
export const MAX_ROW_BYTES = 384 * 1024;

export const BLANK: AttributeValue = { B: new Uint8Array() };

export function keyOf(stream: string, number: number): Item {
  return { s: { S: stream }, n: { N: String(number) } };
}

export function toItem(stream: string, { number, head, texts, expiresAt }: LogRow): Item {
  return {
    ...keyOf(stream, number),
    ...(head !== "" && { h: { S: head } }),
    ...(texts.length > 0 && { c: { L: texts.map((text) => ({ B: Buffer.from(text) })) } }),
    ...(expiresAt !== undefined && { x: toSeconds(expiresAt) }),
    ...(number < FIRST_ROW && { r: { S: shardOf(stream) } }),
  };
}

export function toRow({ n, h, c, x }: Item): LogRow {
  return {
    number: Number(n?.N),
    head: h?.S ?? "",
    texts: (c?.L ?? []).map(({ B: bytes }) =>
      bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString() : "",
    ),
    expiresAt: x?.N === undefined ? undefined : Number(x.N) * 1_000,
  };
}

/** Rounds up, so that no row is deleted before its time. */
export function toSeconds(milliseconds: number): AttributeValue.NMember {
  return { N: String(Math.ceil(milliseconds / 1_000)) };
}
