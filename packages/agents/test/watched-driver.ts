import { StoreError } from "@scrollback/store-core";
import { type CommitOutcome, type CommitRequest, MemoryDriver } from "@scrollback/store-core/driver";

/** A memory driver that records the requested commits, and can lose the replies to the next ones. */
export class WatchedDriver extends MemoryDriver {
  readonly commits: CommitRequest[] = [];
  repliesToLose = 0;
  /** Whether the store repeats a commit without a reply. If not, its caller gets the error at once, as after a long outage. */
  isRepeated = true;

  override async commit(request: CommitRequest): Promise<CommitOutcome> {
    this.commits.push(request);
    const outcome = await super.commit(request);
    if (this.repliesToLose === 0) return outcome;
    this.repliesToLose -= 1;
    throw new StoreError("UNAVAILABLE", "the reply was lost", { retryable: this.isRepeated });
  }
}
