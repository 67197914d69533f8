import type { MessageRecord } from "@scrollback/store-core/driver";
import { decodeBase64, encodeBase64 } from "@scrollback/store-core/internal";
import { type Head, type StoredMessage, tokenOf } from "./database.ts";

/** Conversions of what is stored, for databases that store texts. */
export const DocumentJson = Object.freeze({
  /** A head without its tail as JSON: a listing needs no tails. */
  fromHead: headToJson,

  /**
   * The head of the texts that `fromHead` and `fromMessages` made; undefined if they are damaged.
   *
   * @param token what the database stores as the token of the head, if it does.
   * @param tail default: an empty tail.
   */
  toHead: headFromJson,

  /** The messages of a page, or a tail, as JSON. In the worst case it has six bytes for one of a text; for one of the default codec, two. */
  fromMessages: messagesToJson,

  /** The messages of the text that `fromMessages` made. Those without a number are omitted, and a damaged text is `""`. */
  toMessages: messagesFromJson,
});

function headToJson({ tail, operations, ...fields }: Head): string {
  return JSON.stringify({ ...fields, operations: encodeBase64(operations) });
}

function messagesToJson(messages: readonly StoredMessage[]): string {
  return JSON.stringify(
    messages.map(({ sequence, kind, createdAt, text }) => [sequence, kind, createdAt, text]),
  );
}

function headFromJson(
  json: string,
  { token, tail = "[]" }: { token?: string; tail?: string } = {},
): Head | undefined {
  const { operations, ...fields }: Record<string, unknown> = Object(parsed(json));
  const messages = parsed(tail);
  const remembered = typeof operations === "string" ? decodeBase64(operations) : undefined;
  if (!remembered || !Array.isArray(messages)) return undefined;
  for (const name of ["n", "first", "next", "createdAt", "updatedAt"])
    if (!Number.isFinite(fields[name])) return undefined;
  for (const name of ["pages", "pins", "leaving"]) if (!Array.isArray(fields[name])) return undefined;
  const head = {
    ...fields,
    tail: messagesFromJson(tail),
    operations: remembered,
  } as unknown as Head;
  return token === undefined || tokenOf(head) === token ? head : undefined;
}

function messagesFromJson(json: string): StoredMessage[] {
  const messages = parsed(json);
  if (!Array.isArray(messages)) return [];
  return messages.flatMap((message: unknown) => {
    const [sequence, kind, createdAt, text]: unknown[] = Array.isArray(message) ? message : [];
    if (typeof sequence !== "number") return [];
    return [
      {
        sequence,
        kind: String(kind) as MessageRecord["kind"],
        createdAt: Number(createdAt),
        text: typeof text === "string" ? text : "",
      },
    ];
  });
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
