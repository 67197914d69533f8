import type {
  DocumentCapabilities,
  DocumentDatabase,
  HeadListing,
  HeadsRequest,
  LoadedHead,
  Page,
  Swap,
} from "./database.ts";
import { type Head, loadedHead } from "./database.ts";

interface Thread {
  /** A string is a damaged one. */
  head: Head | string | null;
  readonly pages: Map<string, Page>;
}

/**
 * A database of documents in this process's memory: the reference, and an example. Its verbs are atomic because they never await. It
 * deletes what is past its `until` only in `sweep`, so that tests choose the time.
 */
export class MemoryDocuments implements DocumentDatabase {
  readonly capabilities: DocumentCapabilities;
  readonly #threads = new Map<string, Thread>();

  /** @param maxDocumentBytes default 4 MiB. */
  constructor(maxDocumentBytes = 4 * 1024 ** 2) {
    this.capabilities = Object.freeze({ backend: "memory-documents", sharing: "driver", maxDocumentBytes });
  }

  async load(threadId: string): Promise<LoadedHead | null> {
    return loadedOf(this.#threads.get(threadId)?.head);
  }

  /** Stores the difference alone, where the request says what it is, as a database does that has such updates. */
  async swap({ threadId, expected, head, pushed }: Swap): Promise<boolean> {
    const thread = this.#thread(threadId);
    const present = loadedOf(thread.head);
    if (present?.token !== expected?.token) return false;
    thread.head = head;
    const stored = present?.head;
    if (!stored || !expected?.head || pushed === undefined) return true;
    const tail = [...stored.tail, ...head.tail.slice(head.tail.length - pushed)];
    thread.head = {
      ...changed(stored, expected.head, head),
      tail: tail.slice(tail.length - head.tail.length),
    };
    return true;
  }

  async write(threadId: string, pages: readonly Page[]): Promise<void> {
    const thread = this.#thread(threadId);
    for (const page of pages) if (!thread.pages.has(page.id)) thread.pages.set(page.id, page);
  }

  async read(threadId: string, ids: readonly string[]): Promise<Page[]> {
    const { pages } = this.#thread(threadId);
    return ids.map((id) => pages.get(id)).filter((page) => page !== undefined);
  }

  async raise(threadId: string, ids: readonly string[], until: number | undefined): Promise<void> {
    const { pages } = this.#thread(threadId);
    for (const id of ids) {
      const page = pages.get(id);
      if (page?.until !== undefined && (until === undefined || until > page.until))
        pages.set(id, { ...page, until });
    }
  }

  async remove(threadId: string, ids: readonly string[]): Promise<void> {
    const { pages } = this.#thread(threadId);
    for (const id of ids) pages.delete(id);
  }

  async keys(threadId: string): Promise<string[]> {
    return [...this.#thread(threadId).pages.keys()];
  }

  async list({ prefix, limit, after }: HeadsRequest): Promise<HeadListing> {
    const found = [...this.#threads]
      .filter(([id, { head }]) => head && id.startsWith(prefix) && (after === undefined || id > after))
      .map(([threadId, { head }]) => ({ threadId, head: loadedOf(head)?.head }))
      .sort((one, other) => (one.threadId < other.threadId ? -1 : 1));
    const heads = found.slice(0, limit);
    return { heads, ...(found.length > limit && { next: heads.at(-1)?.threadId }) };
  }

  async close(): Promise<void> {}

  classifyError(): undefined {
    return undefined;
  }

  /** Deletes what may be deleted at a time, as a database does at some time. Returns the number of deleted documents. */
  sweep(now: number): number {
    let swept = 0;
    for (const thread of this.#threads.values()) {
      if ((loadedOf(thread.head)?.head?.until ?? Number.POSITIVE_INFINITY) <= now) {
        thread.head = null;
        swept++;
      }
      for (const { id, until = Number.POSITIVE_INFINITY } of thread.pages.values())
        if (until <= now && thread.pages.delete(id)) swept++;
    }
    return swept;
  }

  /** The stored documents of a thread, for tests that inspect or replace them. */
  documentsOf(threadId: string): { head: Head | string | null; readonly pages: Map<string, Page> } {
    return this.#thread(threadId);
  }

  #thread(threadId: string): Thread {
    const thread = this.#threads.get(threadId) ?? { head: null, pages: new Map() };
    this.#threads.set(threadId, thread);
    return thread;
  }
}

function loadedOf(stored: Head | string | null | undefined): LoadedHead | null {
  if (typeof stored === "string") return { token: `damaged: ${stored}`, head: undefined };
  return stored ? loadedHead(stored) : null;
}

/** The stored head with the fields that differ between two others. */
function changed(stored: Head, from: Head, to: Head): Head {
  const fields = Object.entries(to).filter(([name, value]) => value !== Reflect.get(from, name));
  return { ...stored, ...Object.fromEntries(fields) };
}
