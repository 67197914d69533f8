/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { isListed, isLost, listAgain, missingEntries } from "./lists/any-thread.ts";
export { concernsAll, ifReadable } from "./lists/removal.ts";
export type { ListItem } from "./lists/requests.ts";
