import { invalid, isId } from "./arguments.ts";
import type { StreamPage, StreamsRequest } from "./record-log/record-log.ts";

/** What a log says to an `after` that is none of its own. */
export function refuseStreamCursor(): never {
  return invalid("listThreads: cursor must be one that listThreads() gave for the same prefix");
}

/**
 * Checks the `after` of a request to a log whose pages end with a stream's name, see {@link streamPageOf}.
 *
 * @throws StoreError `INVALID_ARGUMENT` where no stream with the prefix can have that name.
 */
export function checkStreamCursor({ prefix, after }: StreamsRequest): void {
  if (after !== undefined && (isId(after) !== undefined || !after.startsWith(prefix))) refuseStreamCursor();
}

/**
 * The page for the names that a log found in their order: one more than asked for where there are more, so that a listing
 * does not end with an empty page. The page's `next` is the last name on it.
 */
export function streamPageOf(names: readonly string[], limit: number): StreamPage {
  const streams = names.slice(0, limit);
  return { streams, ...(names.length > limit && { next: streams.at(-1) }) };
}
