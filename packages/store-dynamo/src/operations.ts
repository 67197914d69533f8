import { hash } from "node:crypto";
import { StoreError } from "@scrollback/store-core";
import { type DeleteRequest, REMEMBERED_MS, REMEMBERED_OPERATIONS } from "@scrollback/store-core/driver";

/**
 * The newest operations of a thread, in its head: one entry for each commit, so that an entry's position tells the number of its commit.
 * An entry has 7 bytes of the hash of the operation id and 3 bytes of that of the digest. A new id is taken for a known one once in 10^15
 * commits; another change under a known id is taken for the same one once in 10^7 times.
 */
export interface Operations {
  readonly packed: Uint8Array;
  /** The commits up to number `n` were made up to the time `at`. */
  readonly mark: { readonly n: number; readonly at: number };
  /** Earlier incarnations: the commits before each, its last one, and the time up to which its operations are known. */
  readonly past: readonly (Incarnation & { readonly n: number; readonly until: number })[];
}

/** An incarnation of a thread, and the number of commits before it, which its revisions do not count. */
export interface Incarnation {
  readonly incarnation: string;
  readonly began: number;
}

/** Identifies an operation, and its change. */
export interface Operation {
  readonly operationId: string;
  readonly digest: string;
}

const ID_BYTES = 7;
const ENTRY_BYTES = 10;
/** Covers clocks that differ, and a request that is under way. */
const SLACK_MS = 5_000;

export const NO_OPERATIONS: Operations = Object.freeze({
  packed: new Uint8Array(),
  mark: Object.freeze({ n: 0, at: 0 }),
  past: Object.freeze([]),
});

/** @throws StoreError `UNAVAILABLE`, retryable, if the head may have forgotten an earlier attempt of a request that it does not have. */
export function assertInTime({ sendBefore }: Pick<DeleteRequest, "sendBefore">): void {
  if (sendBefore === undefined || performance.now() < sendBefore) return;
  const message =
    "dynamodb: the outcome is unknown; repeat the call with the same operationId, or read the thread first";
  throw new StoreError("UNAVAILABLE", message, { retryable: true });
}

const digest = (text: string, bytes: number) => hash("sha256", text, "buffer").subarray(0, bytes);

export const Operations = Object.freeze({
  /** The commit of a known operation: its earlier incarnation, undefined for the current one, and its number. */
  find(
    { packed, past }: Operations,
    newest: number,
    { operationId, digest: change }: Operation,
    now: number,
  ): { readonly earlier: Incarnation | undefined; readonly n: number; readonly isSame: boolean } | undefined {
    const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength);
    const id = digest(operationId, ID_BYTES);
    for (let at = bytes.length - ENTRY_BYTES; at >= 0; at -= ENTRY_BYTES) {
      if (bytes.compare(id, 0, ID_BYTES, at, at + ID_BYTES) !== 0) continue;
      const n = newest - (bytes.length - at) / ENTRY_BYTES + 1;
      const earlier = past.find((one) => n <= one.n);
      if (earlier && earlier.until < now) return undefined;
      const isSame = digest(change, ENTRY_BYTES - ID_BYTES).equals(
        bytes.subarray(at + ID_BYTES, at + ENTRY_BYTES),
      );
      return { earlier, n, isSame };
    }
    return undefined;
  },

  /** Adds that of commit `n`. Forgets what is neither among the newest 64 nor younger than `REMEMBERED_MS`. */
  add(
    { packed, mark, past }: Operations,
    n: number,
    { operationId, digest: change }: Operation,
    now: number,
  ): Operations {
    const entry = [digest(operationId, ID_BYTES), digest(change, ENTRY_BYTES - ID_BYTES)];
    const all = Buffer.concat([packed, ...entry]);
    if (now < mark.at + REMEMBERED_MS + SLACK_MS) return { packed: all, mark, past };
    const forgotten = past.findLast(({ until }) => until < now)?.n ?? 0;
    const kept = Math.min(Math.max(REMEMBERED_OPERATIONS, n - mark.n), n - forgotten);
    const known = past.filter((one) => one.until >= now && one.n > n - kept);
    return { packed: all.subarray(-kept * ENTRY_BYTES), mark: { n, at: now }, past: known };
  },

  /** Those of a thread whose incarnation ends with commit `n`. They are known until a time. */
  end(
    { packed, mark, past }: Operations,
    { incarnation, began }: Incarnation,
    n: number,
    until: number,
  ): Operations {
    const ended = { incarnation, began, n, until };
    return { packed, mark, past: [...past, ended] };
  },
});
