import type { SearchItem } from "@langchain/langgraph-checkpoint";

/** The namespace, key and value of an item; times are compared separately. */
export const toShown = ({ namespace, key, value }: SearchItem) => JSON.stringify([namespace, key, value]);

/** The same of items, sorted. */
export const shown = (items: readonly SearchItem[]) => items.map(toShown).sort();
