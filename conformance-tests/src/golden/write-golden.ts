import type { Cursor, Revision, StoreState } from "@scrollback/store-core";
import { createStores, type Driver } from "@scrollback/store-core/driver";
import { goldenThreads, operationOf, timeOf } from "./threads.ts";

/** What the writing of a golden thread returned, for users to keep. Plain JSON. */
export interface GoldenFact {
  /** The revision after each of its commits. */
  readonly revisions: readonly (Revision | null)[];
  /** The cursors of a read of the newest two messages. */
  readonly older?: Cursor;
  readonly newer?: Cursor;
  readonly state: StoreState;
}

/** By thread id. */
export type GoldenFacts = Readonly<Record<string, GoldenFact>>;

/**
 * Writes the golden threads through a driver: the data at rest in an adapter's format, to be copied to a file once and then read
 * by {@link runGolden}.
 *
 * @param driver on a namespace that nothing else uses. It stays open.
 * @returns what {@link runGolden} has to know of them; keep it beside the copy.
 */
export async function writeGolden(driver: Driver): Promise<GoldenFacts> {
  const facts: Record<string, GoldenFact> = {};
  for (const { threadId, settings, changes } of goldenThreads) {
    const store = createStores(driver, settings).open(threadId);
    const revisions: (Revision | null)[] = [];
    for (const [index, change] of changes.entries()) {
      const options = { operationId: operationOf(threadId, index), createdAt: timeOf(index) };
      revisions.push(await store.commit(change, options));
    }
    const { older, newer } = await store.read({ limit: 2 });
    facts[threadId] = {
      revisions,
      ...(older !== undefined && { older }),
      ...(newer !== undefined && { newer }),
      state: await store.serialize(),
    };
  }
  return facts;
}
