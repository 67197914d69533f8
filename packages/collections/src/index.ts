export { type DirectoryClock, systemDirectoryClock } from "./clock.ts";
export type { DirectoryLayout } from "./directory/directory-kind.ts";
export { MarkedDirectories } from "./directory/marked-directories.ts";
export type { Mark, MarkedEntry, MarkedNote } from "./directory/marked-notes.ts";
export type {
  MarkedDirectoriesOptions,
  MarkedPage,
  MarkedPageRequest,
  MemberNow,
  MemberOf,
  PurgedMember,
  Written,
} from "./directory/marked-options.ts";
export type { Direction, Key, Position } from "./directory/position.ts";
export type { LeafRef, Root, Snapshot as DirectorySnapshot, UnusedLeaf } from "./directory/tree.ts";
export {
  type RefuseCreation,
  type Verified,
  VerifiedDirectories,
  type VerifiedDirectoriesOptions,
  type VerifiedPage,
  type VerifiedPageRequest,
  type Verify,
} from "./directory/verified-directories.ts";
export type { VerifiedEntry, VerifiedLayout, VerifiedNote } from "./directory/verified-notes.ts";
export { envelope, valueOfEnvelope as valueOf } from "./envelope.ts";
export { parseMetadata } from "./format.ts";
export {
  isListed,
  isLost,
  iterateEntries,
  type ListedEntry,
  missingEntries,
  rebuildLists,
  removeAnyThread,
} from "./lists/any-thread.ts";
export type { Draft, Listed, Member, Missing, Snapshot } from "./lists/listed.ts";
export {
  type ListItem,
  type ListPage,
  type ListRequest,
  Lists,
  type ListsOptions,
  type Names,
} from "./lists/lists.ts";
export { concernsAll, ifReadable, type RemoveOptions } from "./lists/removal.ts";
export { nameOf } from "./names.ts";
export { type RecordOf, Records, type RecordsOptions, type RecordWriteOptions } from "./records.ts";
