import { type ChatMessage, jsonCodec } from "@scrollback/store-core";
import {
  type CommitOutcome,
  type CommitRequest,
  type DeleteOutcome,
  type DeleteRequest,
  type Driver,
  formatRevision,
  invalid,
  type ListRequest,
  MemoryDriver,
  NO_THREAD,
  REMEMBERED_OPERATIONS,
  type ReadRequest,
  type ThreadListing,
  type ThreadView,
} from "@scrollback/store-core/driver";
import { trimmed } from "../src/trimming-oracle.ts";

interface Thread {
  readonly incarnation: string;
  commits: number;
  next: number;
  entries: ThreadView["entries"][number][];
  metadata: string | undefined;
  readonly createdAt: number;
  updatedAt: number;
  /** The time of its expiry, if it has one. The threads of these tests outlive the tests, so it is never reached. */
  expiresAt: number | undefined;
  operations: { id: string; digest: string; revision: string }[];
}

/** The contract of `Driver` in its simplest form, over lists: the reference for the memory driver. */
export class PlainDriver implements Driver {
  readonly capabilities = new MemoryDriver().capabilities;
  readonly #threads = new Map<string, Thread>();

  async commit(request: CommitRequest): Promise<CommitOutcome> {
    const { threadId, operationId, digest, expectedRevision, drop, append, metadata, maxMessages } = request;
    const found = this.#threads.get(threadId);
    const revision = found ? formatRevision(found.incarnation, found.commits) : null;
    const first = found?.operations.find(({ id }) => id === operationId);
    if (first?.digest === digest) return { outcome: "repeated", revision: first.revision };
    if (first) return { outcome: "operation-conflict", revision };
    if (expectedRevision !== undefined && expectedRevision !== revision) {
      return { outcome: "revision-conflict", revision };
    }
    const thread: Thread = found ?? {
      incarnation: request.newIncarnation,
      commits: 0,
      next: 1,
      entries: [],
      metadata: undefined,
      createdAt: request.createdAt,
      updatedAt: request.updatedAt,
      expiresAt: undefined,
      operations: [],
    };
    this.#threads.set(threadId, thread);
    if (drop === "all") {
      thread.entries = [];
    } else if (drop > 0) {
      // The numbers of dropped messages are assigned again, but not those of messages that trimming removed in between.
      const dropped = thread.entries.splice(Math.max(0, thread.entries.length - drop));
      for (const { sequence } of dropped.reverse()) if (sequence === thread.next - 1) thread.next = sequence;
    }
    for (const message of append) thread.entries.push({ sequence: thread.next++, ...message });
    if (maxMessages !== undefined) {
      const messages = thread.entries.map(({ text }) => jsonCodec.decode(text) as ChatMessage);
      const kept = new Set(trimmed(messages, maxMessages, request.trimming));
      thread.entries = thread.entries.filter((_, index) => kept.has(messages[index] as ChatMessage));
    }
    if (metadata !== undefined) thread.metadata = metadata ?? undefined;
    thread.updatedAt = request.updatedAt;
    thread.expiresAt = request.ttlMs && Date.now() + request.ttlMs;
    thread.commits += 1;
    const committed = formatRevision(thread.incarnation, thread.commits);
    thread.operations.push({ id: operationId, digest, revision: committed });
    thread.operations = thread.operations.slice(-REMEMBERED_OPERATIONS);
    return { outcome: "committed", revision: committed };
  }

  async read({ threadId, limit, before, after, metadata }: ReadRequest): Promise<ThreadView> {
    const thread = this.#threads.get(threadId);
    if (!thread) return NO_THREAD;
    const { entries, createdAt, updatedAt, expiresAt } = thread;
    const within = entries.filter(
      ({ sequence }) => sequence > (after ?? 0) && sequence < (before ?? Number.POSITIVE_INFINITY),
    );
    const wanted =
      after === undefined ? within.slice(Math.max(0, within.length - limit)) : within.slice(0, limit);
    return {
      revision: formatRevision(thread.incarnation, thread.commits),
      count: entries.length,
      first: entries[0]?.sequence ?? thread.next,
      last: entries.at(-1)?.sequence ?? thread.next - 1,
      newestCompaction: entries.findLast(({ kind }) => kind === "k")?.sequence,
      entries: wanted,
      ...{ createdAt, updatedAt, expiresAt },
      ...(metadata && thread.metadata !== undefined && { metadata: thread.metadata }),
    };
  }

  async delete({ threadId, expectedRevision }: DeleteRequest): Promise<DeleteOutcome> {
    const thread = this.#threads.get(threadId);
    const revision = thread ? formatRevision(thread.incarnation, thread.commits) : null;
    if (expectedRevision !== undefined && expectedRevision !== revision)
      return { outcome: "revision-conflict", revision };
    this.#threads.delete(threadId);
    return { outcome: "deleted" };
  }

  async list({ prefix, limit, cursor = "" }: ListRequest): Promise<ThreadListing> {
    if (!cursor.isWellFormed()) invalid("cursor must be a thread id");
    const ids = [...this.#threads.keys()].filter((id) => id.startsWith(prefix) && id > cursor).sort();
    const page = ids.slice(0, limit);
    const threads = page.map((threadId) => {
      const { entries, metadata, createdAt, updatedAt, expiresAt } = this.#threads.get(threadId) as Thread;
      return { threadId, count: entries.length, metadata, createdAt, updatedAt, expiresAt };
    });
    return { threads, cursor: ids.length > limit ? page.at(-1) : undefined };
  }

  async close(): Promise<void> {
    this.#threads.clear();
  }

  classifyError(): undefined {
    return undefined;
  }
}
