import type { DocumentCapabilities } from "@scrollback/documents";

/** The capabilities of both databases. */
export const common = {
  // An isolate has 128 MB of memory, for several copies of what a commit writes.
  maxMessageBytes: 8 * 1024 ** 2,
  maxCommitBytes: 16 * 1024 ** 2,
  // 30 days of time travel, and the day of all documents.
  deletedWithinMs: 31 * 24 * 3_600_000,
} satisfies Partial<DocumentCapabilities>;
