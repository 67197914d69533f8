import { createHash } from "node:crypto";
import { FIRST_ROW, refuseStreamCursor, type StreamPage, type StreamsRequest } from "@scrollback/record-log";
import { isId } from "@scrollback/store-core/driver";

/** The sparse index that lists streams. It contains only the roots. */
export const ROOT_INDEX = "roots";

/**
 * The number of partitions of the index. Each accepts 1,000 new streams per second. A listing queries one after the other, so
 * there are few.
 */
const SHARDS = 8;

/** The maximum number of requests per page. A page is short if there are many items between two streams. */
const REQUESTS_A_PAGE = 2 * SHARDS;

/** The minimum number of items per request, because a stream may have several roots. */
const ITEMS_A_REQUEST = 25;

/** The maximum length of a sort key in DynamoDB. No stream has a longer name. */
const MAX_PREFIX_BYTES = 1_024;

/** An item of the index. */
export interface Root {
  readonly stream: string;
  readonly number: number;
}

/** Returns the next roots of a shard after the root `after`, in the order of their streams, whose names begin with `prefix`. */
export type QueryRoots = (asked: {
  readonly shard: string;
  readonly prefix: string;
  readonly after: Root | undefined;
  readonly limit: number;
}) => Promise<{ readonly roots: readonly Root[]; readonly last?: Root | undefined }>;

/** Returns the shard of a stream, which depends only on its name. */
export function shardOf(stream: string): string {
  return String(createHash("sha256").update(stream).digest().readUInt8() % SHARDS);
}

/** Returns a page of streams with one request, and one more request for each shard that ends. */
export async function streamPage(request: StreamsRequest, query: QueryRoots): Promise<StreamPage> {
  const { prefix, limit } = request;
  let { shard, after } = parseCursor(request);
  if (Buffer.byteLength(prefix) > MAX_PREFIX_BYTES) return { streams: [] };
  const listedBefore = after?.stream;
  const streams = new Set<string>();
  for (let sent = 0; shard < SHARDS && streams.size < limit && sent < REQUESTS_A_PAGE; sent++) {
    const items = Math.max(limit - streams.size, ITEMS_A_REQUEST);
    const { roots, last } = await query({ shard: String(shard), prefix, after, limit: items });
    for (const root of roots) {
      const isNew = root.stream !== listedBefore && !streams.has(root.stream);
      if (isNew && streams.size === limit) return { streams: [...streams], next: formatCursor(shard, after) };
      if (isNew) streams.add(root.stream);
      after = root;
    }
    if (last) after = last;
    else [shard, after] = [shard + 1, undefined];
  }
  return { streams: [...streams], ...(shard < SHARDS && { next: formatCursor(shard, after) }) };
}

function formatCursor(shard: number, after: Root | undefined): string {
  return after ? `${shard}/${after.number}/${after.stream}` : `${shard}/`;
}

function parseCursor({ prefix, after }: StreamsRequest): { shard: number; after: Root | undefined } {
  if (after === undefined) return { shard: 0, after: undefined };
  const [whole, shard = "", number, stream] = /^(\d)\/(?:([1-9]\d{0,12})\/(.+))?$/s.exec(after) ?? [];
  if (whole === undefined || Number(shard) >= SHARDS) return refuseStreamCursor();
  if (stream === undefined) return { shard: Number(shard), after: undefined };
  const isOurs =
    isId(stream) === undefined &&
    stream.startsWith(prefix) &&
    shardOf(stream) === shard &&
    Number(number) < FIRST_ROW;
  return isOurs ? { shard: Number(shard), after: { stream, number: Number(number) } } : refuseStreamCursor();
}
