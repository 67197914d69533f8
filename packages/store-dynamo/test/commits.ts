import type { CommitRequest } from "@scrollback/store-core/driver";

/** A commit that appends texts to the thread "a". */
export const requestOf = (
  operationId: string,
  texts: readonly string[],
  expectedRevision?: string,
): CommitRequest => ({
  ...{
    threadId: "a",
    operationId,
    digest: "own",
    newIncarnation: operationId.padEnd(16, "i"),
    expectedRevision,
  },
  ...{ drop: 0, append: texts.map((text) => ({ kind: "u", createdAt: 0, text })), metadata: undefined },
  ...{
    maxMessages: undefined,
    trimming: "exact",
    ttlMs: undefined,
    createdAt: 1,
    updatedAt: 1,
    signal: undefined,
  },
});
