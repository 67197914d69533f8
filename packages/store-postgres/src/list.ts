import { IdCursor, type ListRequest, type ThreadListing } from "@scrollback/store-core/driver";
import type { Rows, Value } from "./sessions.ts";
import { fromText, toText } from "./text.ts";

/** The arguments of `list_threads_v1`. @throws StoreError `INVALID_ARGUMENT` for a cursor that is not the driver's. */
export function listArguments(request: ListRequest): Value[] {
  const after = IdCursor.parse("listThreads", request);
  return [toText(request.prefix), toText(after ?? ""), request.limit, request.sizes === true];
}

/** What `list_threads_v1` returns. */
export const LIST_COLUMNS = [
  "id",
  "count",
  "created_at",
  "updated_at",
  "expires_at",
  "metadata",
  "bytes",
  "is_more",
];

/** The page that `list_threads_v1` returned. */
export function listingOf(rows: Rows): ThreadListing {
  const threads = rows.map(([id, count, createdAt, updatedAt, expiresAt, metadata, bytes]) => ({
    threadId: fromText(String(id)),
    count: Number(count),
    ...{ createdAt: Number(createdAt), updatedAt: Number(updatedAt) },
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
    ...(metadata !== null && { metadata: fromText(String(metadata)) }),
    ...(bytes !== null && { bytes: Number(bytes) }),
  }));
  const last = threads.at(-1);
  const isMore = rows.at(-1)?.[7] === "true";
  return { threads, ...(isMore && last && { cursor: IdCursor.format(last.threadId) }) };
}
