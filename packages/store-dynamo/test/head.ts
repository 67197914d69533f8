import type { Head } from "../src/head.ts";
import { NO_OPERATIONS } from "../src/operations.ts";

/** A head with the given fields. */
export function headOfThread(fields: Partial<Head>): Head {
  return {
    ...{
      incarnation: "abc",
      n: 9,
      version: 9,
      isDead: false,
      offset: 0,
      began: 0,
      kinds: "",
      createdAt: 1,
      updatedAt: 2,
    },
    bounds: { pinned: null, compaction: null, first: 1, next: 1 },
    search: { userless: 1, startless: 1, newestCompaction: 0 },
    ...{ expiresAt: undefined, until: undefined, metadata: 0, paged: 0, dropped: { n: 0, from: 0 } },
    ...{ operations: NO_OPERATIONS, leaving: [], isLowering: false },
    ...fields,
  };
}
