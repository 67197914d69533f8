import { StoreError } from "@scrollback/store-core";
import { REMEMBERED_MS, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";
import { sha256 } from "@scrollback/store-core/internal";
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
  /** The digest of its id: 64 bits. */
  readonly id: bigint;
  /** The digest of its change: 32 bits. */
  readonly change: number;
}

/** The operations that a head remembers, oldest first. */
export const Operations = Object.freeze({
  NONE: new Uint8Array(0) as Uint8Array,

  of({ operationId, digest }: { readonly operationId: string; readonly digest: string }): Operation {
    return { id: digestOf(operationId), change: Number(digestOf(digest) >> 32n) };
  },

  /** The remembered operation with the same id: its revision's parts, and whether its change is the same. */
  find(
    { operations, incarnation, former, isDead = false }: Head,
    operation: Operation,
    now: number,
  ): { readonly incarnation: string; readonly n: number; readonly isSame: boolean } | undefined {
    const all = viewOf(operations);
    for (let at = 0; at < all.byteLength; at += SIZE) {
      if (all.getBigUint64(at) !== operation.id) continue;
      const number = all.getUint32(at + NUMBER_AT);
      const isFormer = number >= FORMER;
      // A deleted thread is remembered only for requests whose reply was lost.
      if ((isFormer || isDead) && all.getUint32(at + TIME_AT) * 1_000 <= now - REMEMBERED_MS) continue;
      return {
        incarnation: isFormer && former !== undefined ? former : incarnation,
        n: number % FORMER,
        isSame: all.getUint32(at + CHANGE_AT) === operation.change,
      };
    }
    return undefined;
  },

  /** Appends an operation. */
  add(operations: Uint8Array, { id, change }: Operation, n: number, now: number): Uint8Array {
    const added = new Uint8Array(operations.length + SIZE);
    added.set(operations);
    const all = viewOf(added);
    const at = operations.length;
    all.setBigUint64(at, id);
    all.setUint32(at + CHANGE_AT, change);
    all.setUint32(at + NUMBER_AT, n % FORMER);
    // By a clock that goes backwards, an operation would be forgotten too early.
    const newest = at === 0 ? 0 : all.getUint32(at - SIZE + TIME_AT);
    all.setUint32(at + TIME_AT, Math.min(2 ** 32 - 1, Math.max(newest, Math.ceil(now / 1_000))));
    return added;
  },

  /** The operations of a deleted thread, for the incarnation that begins after it. */
  ofFormer(operations: Uint8Array): Uint8Array {
    const former = operations.slice();
    const all = viewOf(former);
    for (let at = 0; at < all.byteLength; at += SIZE) {
      const number = all.getUint32(at + NUMBER_AT);
      all.setUint32(at + NUMBER_AT, number < FORMER ? number + FORMER : number);
    }
    return former;
  },

  /**
   * Removes operations that cannot be sent again, except the newest 64: those that are too old, and those whose outcome this process
   * has received.
   *
   * @throws StoreError `UNAVAILABLE`, retryable, if too many are left.
   */
  prune(operations: Uint8Array, now: number, received: ReadonlySet<bigint>): Uint8Array {
    const newest = operations.length - REMEMBERED_OPERATIONS * SIZE;
    if (newest <= 0) return operations;
    const all = viewOf(operations);
    const kept = new Uint8Array(operations.length);
    let length = 0;
    for (let at = 0; at < newest; at += SIZE) {
      const isDue = all.getUint32(at + TIME_AT) * 1_000 <= now - KEPT_MS;
      if (isDue || received.has(all.getBigUint64(at))) continue;
      kept.set(operations.subarray(at, at + SIZE), length);
      length += SIZE;
    }
    kept.set(operations.subarray(newest), length);
    length += operations.length - newest;
    const over = length - MAX_OPERATIONS * SIZE;
    if (over <= 0) return kept.subarray(0, length);
    if (viewOf(kept).getUint32(over - SIZE + TIME_AT) * 1_000 > now - REMEMBERED_MS) {
      const message = `the thread had ${MAX_OPERATIONS} commits of other processes within 10 s; write more slowly`;
      throw new StoreError("UNAVAILABLE", message, { retryable: true });
    }
    return kept.subarray(over, length);
  },

  /** The ids of those in a set that are still remembered. */
  remembered(operations: Uint8Array, received: ReadonlySet<bigint>): Set<bigint> {
    const all = viewOf(operations);
    const left = new Set<bigint>();
    for (let at = 0; at < all.byteLength; at += SIZE) {
      const id = all.getBigUint64(at);
      if (received.has(id)) left.add(id);
    }
    return left;
  },
});

/** Of the whole operations: a damaged end is ignored. */
function viewOf({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength - (byteLength % SIZE));
}

/** The first 64 bits of a text's digest. */
function digestOf(text: string): bigint {
  return BigInt(`0x${sha256(text, "hex").slice(0, 16)}`);
}
