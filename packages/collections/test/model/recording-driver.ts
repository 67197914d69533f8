import type { CommitRequest, DeleteRequest } from "@scrollback/store-core";
import { KeptDriver } from "../../../../conformance-tests/test/fixtures/kept-driver.ts";

/** Threads in memory that outlive their stores, and a record of the written and deleted threads. */
export class RecordingDriver extends KeptDriver {
  /** The threads that were written or deleted since the last clear. */
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
