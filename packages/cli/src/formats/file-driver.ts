import { StoreError, type StoreFactory } from "@scrollback/store-core";
import {
  createStores,
  type Driver,
  type DriverCapabilities,
  formatRevision,
  type ListRequest,
  NO_THREAD,
  type ReadRequest,
  SequenceBounds,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import type { ThreadEntry } from "@scrollback/store-core/internal";
import { anyMessageTraits } from "../context/open-backend.ts";
import { type FileThread, recordOf } from "./thread-file.ts";

const capabilities: DriverCapabilities = Object.freeze({
  backend: "file",
  maxMessageBytes: Number.MAX_SAFE_INTEGER,
  maxCommitBytes: Number.MAX_SAFE_INTEGER,
  maxCommitMessages: Number.MAX_SAFE_INTEGER,
  sharing: "driver",
  expiry: true,
  trimmedWithinCommits: 0,
  deletedWithinMs: 0,
  roundTrips: Object.freeze({ commit: 0, read: 0 }),
});
/** The length of a revision's first part in all drivers. */
const INCARNATION_CHARACTERS = 16;

/**
 * Read-only stores: the threads of a file. A thread's revision is derived from its content. An import is a copy from these
 * stores, so a repeated import of the same file continues an interrupted one.
 */
export function fileStores(threads: readonly FileThread[]): StoreFactory<unknown> {
  return createStores<unknown>(new FileDriver(threads), { traits: anyMessageTraits });
}

class FileDriver implements Driver {
  readonly capabilities = capabilities;
  readonly #threads: ReadonlyMap<string, FileThread>;

  constructor(threads: readonly FileThread[]) {
    this.#threads = new Map(threads.map((thread) => [thread.threadId, thread]));
  }

  async read(request: ReadRequest): Promise<ThreadView> {
    const thread = this.#threads.get(request.threadId);
    if (!thread) return NO_THREAD;
    const { count, createdAt, updatedAt, metadata } = thread;
    const { first, next } = SequenceBounds.selectRange({ ...SequenceBounds.EMPTY, next: count + 1 }, request);
    const entries: ThreadEntry[] = [];
    if (first < next) {
      const signal = request.signal ?? new AbortController().signal;
      for await (const message of thread.messages(first - 1, signal)) {
        entries.push({ sequence: first + entries.length, ...recordOf(message) });
        if (first + entries.length === next) break;
      }
    }
    return {
      revision: formatRevision(thread.digest.slice(0, INCARNATION_CHARACTERS), 1),
      count,
      first: 1,
      last: count,
      entries,
      createdAt,
      updatedAt,
      ...(metadata !== undefined && { metadata }),
    };
  }

  async list({ prefix, limit, cursor = "0" }: ListRequest): Promise<ThreadListing> {
    const matching = [...this.#threads.values()].filter(({ threadId }) => threadId.startsWith(prefix));
    const from = Number(cursor);
    const page = matching.slice(from, from + limit);
    return {
      threads: page.map(({ threadId, count, createdAt, updatedAt }) => ({
        threadId,
        count,
        createdAt,
        updatedAt,
      })),
      ...(from + limit < matching.length && { cursor: String(from + limit) }),
    };
  }

  async commit(): Promise<never> {
    throw readOnly();
  }

  async delete(): Promise<never> {
    throw readOnly();
  }

  async close(): Promise<void> {}

  classifyError(): undefined {
    return undefined;
  }
}

function readOnly(): StoreError {
  return new StoreError("UNSUPPORTED", "a file of threads can be read only");
}
