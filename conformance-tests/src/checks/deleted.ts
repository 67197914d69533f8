import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import type { Backend } from "../backend.ts";
import { listIds } from "./listings.ts";

/** The result of a read of a thread that does not exist. */
export const GONE = { entries: [], revision: null, count: 0 };

/** A text that occurs nowhere else. */
export const secretText = () => `secret ${randomUUID()}`;

/** Asserts that none of these texts is stored for a thread, and that no client reads or lists the thread. */
export async function expectGone(
  backend: Backend,
  threadId: string,
  secrets: readonly string[],
): Promise<void> {
  const dump = await backend.harness.raw.dump(threadId);
  expect(
    secrets.filter((secret) => dump.includes(secret)),
    "content at rest",
  ).toEqual([]);
  for (const stores of [backend.stores(), backend.otherStores()]) {
    const store = stores.open(threadId);
    expect(await store.read()).toStrictEqual(GONE);
    expect(await store.listMessages({ limit: 2 })).toEqual([]);
    expect(await store.popMessage()).toBeUndefined();
    expect(await listIds(stores, { prefix: threadId })).not.toContain(threadId);
  }
}
