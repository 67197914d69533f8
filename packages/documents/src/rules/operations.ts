import { createHash } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import { REMEMBERED_MS, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import type { Head } from "../database.ts";
import { KEPT_MS } from "./times.ts";

/**
 * Bytes 0 to 7: digest of the id; 8 to 11: of the change; 12 to 15: the commit's number, with the highest bit if the incarnation before
 * made it; 16 to 19: its time in seconds.
 */
const SIZE = 20;
const CHANGE_AT = 8;
const NUMBER_AT = 12;
const TIME_AT = 16;
const FORMER = 2 ** 31;
/** The maximum number of remembered operations. */
const MAX_OPERATIONS = 2_000;

/** An operation, for comparison with the remembered ones. */
export interface Operation {
  /** The digest of its id. */
  readonly id: string;
  /** The digest of its change. */
  readonly change: string;
}

/** The operations that a head remembers, oldest first. */
export const Operations = Object.freeze({
  NONE: new Uint8Array(0),

  of({ operationId, digest }: { readonly operationId: string; readonly digest: string }): Operation {
    return { id: digestOf(operationId, CHANGE_AT), change: digestOf(digest, NUMBER_AT - CHANGE_AT) };
  },

  /** The remembered operation with the same id: its revision's parts, and whether its change is the same. */
  find(
    { operations, incarnation, former, isDead = false }: Head,
    operation: Operation,
    now: number,
  ): { readonly incarnation: string; readonly n: number; readonly isSame: boolean } | undefined {
    const id = Buffer.from(operation.id, "latin1");
    const all = bufferOf(operations);
    for (let at = all.indexOf(id); at >= 0; at = all.indexOf(id, at + 1)) {
      if (at % SIZE !== 0) continue;
      const number = all.readUInt32BE(at + NUMBER_AT);
      const isFormer = number >= FORMER;
      // A deleted thread is remembered only for requests whose reply was lost.
      if ((isFormer || isDead) && all.readUInt32BE(at + TIME_AT) * 1_000 <= now - REMEMBERED_MS) continue;
      const change = all.toString("latin1", at + CHANGE_AT, at + NUMBER_AT);
      return {
        incarnation: isFormer && former !== undefined ? former : incarnation,
        n: number % FORMER,
        isSame: change === operation.change,
      };
    }
    return undefined;
  },

  /** Appends an operation. */
  add(operations: Uint8Array, { id, change }: Operation, n: number, now: number): Uint8Array {
    const all = Buffer.alloc(operations.length + SIZE);
    all.set(operations);
    const at = operations.length;
    all.write(id, at, "latin1");
    all.write(change, at + CHANGE_AT, "latin1");
    all.writeUInt32BE(n % FORMER, at + NUMBER_AT);
    // By a clock that goes backwards, an operation would be forgotten too early.
    const newest = at === 0 ? 0 : all.readUInt32BE(at - SIZE + TIME_AT);
    all.writeUInt32BE(Math.min(2 ** 32 - 1, Math.max(newest, Math.ceil(now / 1_000))), at + TIME_AT);
    return all;
  },

  /** The operations of a deleted thread, for the incarnation that begins after it. */
  ofFormer(operations: Uint8Array): Uint8Array {
    const all = Buffer.from(operations);
    for (let at = 0; at < all.length; at += SIZE) {
      const number = all.readUInt32BE(at + NUMBER_AT);
      all.writeUInt32BE(number < FORMER ? number + FORMER : number, at + NUMBER_AT);
    }
    return all;
  },

  /**
   * Removes operations that cannot be sent again, except the newest 64: those that are too old, and those whose outcome this process
   * has received.
   *
   * @throws StoreError `UNAVAILABLE`, retryable, if too many are left.
   */
  prune(operations: Uint8Array, now: number, received: ReadonlySet<string>): Uint8Array {
    const all = bufferOf(operations);
    const newest = all.length - REMEMBERED_OPERATIONS * SIZE;
    if (newest <= 0) return operations;
    const kept: Buffer[] = [];
    for (let at = 0; at < newest; at += SIZE) {
      const isDue = all.readUInt32BE(at + TIME_AT) * 1_000 <= now - KEPT_MS;
      if (!isDue && !received.has(all.toString("latin1", at, at + CHANGE_AT)))
        kept.push(all.subarray(at, at + SIZE));
    }
    kept.push(all.subarray(newest));
    const pruned = Buffer.concat(kept);
    const over = pruned.length - MAX_OPERATIONS * SIZE;
    if (over <= 0) return pruned;
    if (pruned.readUInt32BE(over - SIZE + TIME_AT) * 1_000 > now - REMEMBERED_MS) {
      const message = `the thread had ${MAX_OPERATIONS} commits of other processes within 10 s; write more slowly`;
      throw new StoreError("UNAVAILABLE", message, { retryable: true });
    }
    return pruned.subarray(over);
  },

  /** The ids of those in a set that are still remembered. */
  remembered(operations: Uint8Array, received: ReadonlySet<string>): Set<string> {
    const all = bufferOf(operations);
    const left = new Set<string>();
    for (let at = 0; at < all.length; at += SIZE) {
      const id = all.toString("latin1", at, at + CHANGE_AT);
      if (received.has(id)) left.add(id);
    }
    return left;
  },
});

function bufferOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}

function digestOf(text: string, bytes: number): string {
  return createHash("sha256").update(text).digest().toString("latin1", 0, bytes);
}
