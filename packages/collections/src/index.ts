export { systemListClock } from "./clock.ts";
export { envelope, valueOfEnvelope as valueOf } from "./envelope.ts";
export { parseListed, parseMetadata } from "./format.ts";
export { iterateEntries, rebuildLists, removeAnyThread } from "./lists/any-thread.ts";
export type { Listed, Member, Missing, Names, Snapshot } from "./lists/listed.ts";
export { Lists } from "./lists/lists.ts";
export { nameOf } from "./names.ts";
export { type RecordOf, Records } from "./records.ts";
