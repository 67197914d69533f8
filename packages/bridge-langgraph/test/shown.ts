import type { SearchItem } from "@langchain/langgraph-checkpoint";

/** The namespace, key and value of an item; times are compared separately. */
export const shown = (items: readonly SearchItem[]) =>
  items.map((item) => JSON.stringify([item.namespace, item.key, item.value])).sort();
