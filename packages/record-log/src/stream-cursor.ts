import { invalid, isId } from "@scrollback/store-core/driver";
import type { StreamPage, StreamsRequest } from "./record-log.ts";

/** The error for an `after` that is not one of the log's own. */
export function refuseStreamCursor(): never {
  return invalid("listThreads: cursor must be one that listThreads() gave for the same prefix");
}

/**
 * Checks the `after` of a request to a log whose pages end with a stream's name, see {@link streamPageOf}.
 *
 * @throws StoreError `INVALID_ARGUMENT` if no stream with the prefix can have that name.
 */
export function checkStreamCursor({ prefix, after }: StreamsRequest): void {
  if (after !== undefined && (isId(after) !== undefined || !after.startsWith(prefix))) refuseStreamCursor();
}

/**
 * Makes a page of the names that a log found, in order. The log passes one name more than requested if there are more, so
 * that a listing does not end with an empty page. The page's `next` is its last name.
 */
export function streamPageOf(names: readonly string[], limit: number): StreamPage {
  const streams = names.slice(0, limit);
  return { streams, ...(names.length > limit && { next: streams.at(-1) }) };
}
