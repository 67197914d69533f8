import { randomUUID } from "node:crypto";
import type { IndexEntry, StoreIndex } from "@scrollback/store-core";

import { expect } from "vitest";
import type { Backend } from "../backend.ts";

/** An index of its own for a test. */
export const ownIndex = (backend: Backend): StoreIndex => {
  backend.requireIndex();
  return backend.stores().index(randomUUID());
};

type Content = Parameters<StoreIndex["insert"]>[1];

/** The content of an entry; a test names only what matters to it. */
export const content = (fields: Partial<Content> = {}): Content => ({
  ...{ version: 0, order: 0, value: null },
  ...fields,
});

/** All entries of an index, in pages. */
export async function allOf(
  index: StoreIndex,
  options: { direction?: "up" | "down"; limit?: number; afterPage?: (page: number) => Promise<void> } = {},
): Promise<IndexEntry[]> {
  const { afterPage, ...request } = options;
  const entries: IndexEntry[] = [];
  let cursor: string | undefined;
  for (let page = 1; ; page++) {
    const list = await index.list({ ...request, ...(cursor !== undefined && { cursor }) });
    expect(list.entries.length).toBeLessThanOrEqual(request.limit ?? 100);
    entries.push(...list.entries);
    cursor = list.cursor;
    if (cursor === undefined) return entries;
    await afterPage?.(page);
  }
}
