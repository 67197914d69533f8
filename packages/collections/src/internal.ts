/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export type { ListClock } from "./clock.ts";
export { isListed, isLost, type ListedEntry, listAgain, missingEntries } from "./lists/any-thread.ts";
export type { Draft } from "./lists/listed.ts";
export { concernsAll, ifReadable, type RemoveOptions } from "./lists/removal.ts";
export type { ListItem, NearListItem } from "./lists/requests.ts";
