export { envelope, nameOf, parseMetadata, valueOfEnvelope as valueOf } from "./format.ts";
export { iterateEntries, rebuildLists, removeAnyThread } from "./lists/any-thread.ts";
export type { BlobStorage } from "./lists/blob-storage.ts";
export type { Listed, Member, Snapshot } from "./lists/listed.ts";
export { Lists } from "./lists/lists.ts";
export { Records } from "./records.ts";
