/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { isListed, isLost, listAgain, missingEntries } from "./lists/any-thread.ts";
export { Parts, partsOf, partThreads } from "./lists/parts.ts";
export { concernsAll, ifReadable } from "./lists/removal.ts";
export type { ListItem } from "./lists/requests.ts";
