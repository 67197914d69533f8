import { REMEMBERED_MS } from "@scrollback/store-core/driver";
import type { Head } from "./head.ts";
import { MESSAGES, rowOf } from "./item.ts";
import { type Operation, Operations } from "./operations.ts";
import type { Table } from "./table.ts";

/** A batch of a commit whose end is not known, or that was refused. */
interface Batch {
  readonly id: string;
  readonly keys: readonly string[];
  /** The version of the head on which the commit was last sent; undefined: it was not sent. */
  readonly version: number | undefined;
  readonly operation: Operation;
  /** When it was last sent. */
  readonly at: number;
}

/** The batches of this process of which it is not known whether a commit has them. */
export class Garbage {
  readonly #table: Table;
  readonly #now: () => number;
  readonly #batches = new Map<string, Batch[]>();

  constructor(table: Table, now: () => number) {
    this.#table = table;
    this.#now = now;
  }

  add(threadId: string, batch: Batch): void {
    this.#batches.set(threadId, [...(this.#batches.get(threadId) ?? []), batch]);
  }

  /** Removes those of commits that were not made: the head has moved on to this version, and has no commit with them. */
  async remove(threadId: string, head: Head | undefined, version = 0): Promise<void> {
    const all = this.#batches.get(threadId);
    if (!all) return;
    const now = this.#now();
    const left: Batch[] = [];
    for (const one of all) {
      // Its operation may be forgotten: nobody can tell whether a commit has the batch, which stays.
      if (one.version !== undefined && now > one.at + REMEMBERED_MS) continue;
      if (one.version === version) {
        left.push(one);
        continue;
      }
      const made = head && Operations.find(head.operations, head.n, one.operation, now);
      if (one.version === undefined || !made || (await this.#hasOther(threadId, made.n, one.id)))
        await this.#table.write(threadId, [], one.keys);
    }
    if (left.length > 0) this.#batches.set(threadId, left);
    else this.#batches.delete(threadId);
  }

  /** Whether the page of commit `n` has another batch: a row that a query does not see tells nothing. */
  async #hasOther(thread: string, n: number, batch: string): Promise<boolean> {
    const rows = (await this.#table.query({ thread, ...MESSAGES, keysOnly: true })).map(rowOf);
    return rows.some((row) => row && "batch" in row && row.n === n && row.batch !== batch);
  }
}
