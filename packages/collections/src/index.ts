export { type ListClock, systemListClock } from "./clock.ts";
export { envelope, valueOfEnvelope as valueOf } from "./envelope.ts";
export { parseListed, parseMetadata } from "./format.ts";
export {
  isListed,
  isLost,
  iterateEntries,
  type ListedEntry,
  listAgain,
  missingEntries,
  rebuildLists,
  removeAnyThread,
} from "./lists/any-thread.ts";
export type { Draft, Listed, Member, Missing, Names, Snapshot } from "./lists/listed.ts";
export {
  type ListItem,
  type ListPage,
  type ListRequest,
  Lists,
  type ListsOptions,
} from "./lists/lists.ts";
export { concernsAll, ifReadable, type RemoveOptions } from "./lists/removal.ts";
export { nameOf } from "./names.ts";
export { type Key, type RecordOf, Records, type RecordsOptions, type RecordWriteOptions } from "./records.ts";
