/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { eraseStream, STREAM_PREFIX, streamOf } from "./lists/answer-streams.ts";
export { isListed, isLost, listAgain, missingEntries } from "./lists/any-thread.ts";
export { CONTENT_PREFIX } from "./lists/blob-threads.ts";
export { Blobs, newUse, type ThreadLife, type ThreadState, threadsWithFiles, useIn } from "./lists/blobs.ts";
export { type BlobUse, contentIn } from "./lists/contents.ts";
export { entryValueOf } from "./lists/listed.ts";
export { Parts, partsOf, partThreads } from "./lists/parts.ts";
export { concernsAll, ifReadable } from "./lists/removal.ts";
export type { ListItem } from "./lists/requests.ts";
