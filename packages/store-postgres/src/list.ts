import { IdCursor, type ListRequest, type ThreadListing } from "@scrollback/store-core/driver";
import { fromText, toText } from "./text.ts";

/** The arguments of `list_threads_v1`. @throws StoreError `INVALID_ARGUMENT` for a cursor that is not the driver's. */
export function listArguments(request: ListRequest): unknown[] {
  const after = IdCursor.parse("listThreads", request);
  return [toText(request.prefix), toText(after ?? ""), request.limit];
}

/** The page that `list_threads_v1` returned. */
export function listingOf(rows: readonly (readonly unknown[])[]): ThreadListing {
  const threads = rows.map(([id, count, createdAt, updatedAt, expiresAt, metadata]) => ({
    threadId: fromText(String(id)),
    count: Number(count),
    ...{ createdAt: Number(createdAt), updatedAt: Number(updatedAt) },
    ...(expiresAt !== null && { expiresAt: Number(expiresAt) }),
    ...(metadata !== null && { metadata: fromText(String(metadata)) }),
  }));
  const last = threads.at(-1);
  const isMore = rows.at(-1)?.[6] === true;
  return { threads, ...(isMore && last && { cursor: IdCursor.format(last.threadId) }) };
}
