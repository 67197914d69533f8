import { type CommitRequest, type DeleteRequest, MemoryDriver } from "@scrollback/store-core";

/** Threads in memory that outlive the stores on them, and which of them were written or deleted. */
export class KeptDriver extends MemoryDriver {
  /** The threads that were written or deleted since this was cleared. */
  readonly written = new Set<string>();

  override async commit(request: CommitRequest) {
    const outcome = await super.commit(request);
    this.written.add(request.threadId);
    return outcome;
  }

  override async delete(request: DeleteRequest) {
    const outcome = await super.delete(request);
    this.written.add(request.threadId);
    return outcome;
  }

  /** Stores on this driver come and go; the threads stay. */
  override async close(): Promise<void> {}
}
