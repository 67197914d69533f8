import type { CommitRequest, DeleteRequest } from "@scrollback/store-core";
import { KeptDriver } from "../../../../conformance-tests/test/fixtures/kept-driver.ts";

/** Threads in memory that outlive the stores on them, and which of them were written or deleted. */
export class RecordingDriver extends KeptDriver {
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
}
