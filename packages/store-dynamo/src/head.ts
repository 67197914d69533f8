import { createHash } from "node:crypto";
import type { AttributeValue } from "@aws-sdk/client-dynamodb";
import { StoreError } from "@scrollback/store-core";
import {
  formatRevision,
  SequenceBounds,
  type ThreadView,
  type TrimSearch,
} from "@scrollback/store-core/driver";
import { expiryOf, HEAD, type Item, keyOf, SHARD_ATTRIBUTE, TTL_ATTRIBUTE, type Written } from "./item.ts";
import { type Incarnation, NO_OPERATIONS, type Operations } from "./operations.ts";

/** Messages `from` to `to - 1`, or those of a batch, which are no longer of the thread since commit `n`, and are still to be removed. */
export interface Leaving {
  readonly from: number;
  readonly to: number;
  readonly n: number;
  /** Whether their numbers may be given again, so that they are removed only under a head that nobody has replaced. */
  readonly isReused: boolean;
  /** Named where its page may be written over: `from` and `to` are then indexes in it. */
  readonly batch?: string;
}

/** What a thread is. Every write replaces it on the condition of its incarnation and version. */
export interface Head extends Written, Incarnation {
  /** Counts the writes of the head; `n` counts the commits. */
  readonly version: number;
  /** Whether the thread is deleted. Its head remembers the operations for a while. */
  readonly isDead: boolean;
  /**
   * What the numbers of rows have more than those of messages: a thread that is begun again has other rows, so that a late removal finds
   * none of them. All numbers here, and in rows, are those of rows.
   */
  readonly offset: number;
  readonly bounds: SequenceBounds;
  readonly search: TrimSearch;
  /** The kinds of the messages from `bounds.first` on, for trimming: at most {@link MAX_KINDS}. */
  readonly kinds: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt: number | undefined;
  /** When DynamoDB may delete the items, in milliseconds since 1970: later than `expiresAt`, and never before it is raised. */
  readonly until: number | undefined;
  /** The commit that set the metadata; 0: there is none. */
  readonly metadata: number;
  /** The number after the last message in a page; 0: there was none. */
  readonly paged: number;
  /** The newest commit that dropped messages from the end, and the first number that it dropped: it may be given again. */
  readonly dropped: { readonly n: number; readonly from: number };
  readonly operations: Operations;
  readonly leaving: readonly Leaving[];
  /** Whether the rows still have no expiry, because they were written when the thread had none. */
  readonly isLowering: boolean;
}

/** A head as it is stored. */
export interface StoredHead {
  readonly head: Head;
  readonly item: Item;
}

/** The kinds in a head. When trimming has used them up, one query reads as many again. */
export const MAX_KINDS = 64;
/** What a head has of messages and metadata where there are none. */
export const NO_CONTENT = Object.freeze({
  search: { userless: 1, startless: 1, newestCompaction: 0 },
  ...{ kinds: "", metadata: 0, paged: 0, dropped: { n: 0, from: 0 }, leaving: [], isLowering: false },
}) satisfies Partial<Head>;

/** The partitions of the index that lists threads. A listing queries one after the other, so there are few. */
export const SHARDS = 8;

/** Sort keys have 12 digits. */
const MOST_MESSAGES = 10 ** 12;

/** The shard of a thread, which depends only on its id. */
export function shardOf(threadId: string): string {
  return String(createHash("sha256").update(threadId).digest().readUInt8() % SHARDS);
}

/** The revision of commit `n` of an incarnation, which counts its own commits. */
export const revisionIn = ({ incarnation, began }: Incarnation, n: number) =>
  formatRevision(incarnation, n - began);

export const revisionOf = (head: Head | undefined) => (head ? revisionIn(head, head.n) : null);

export const isExpired = ({ expiresAt }: Head, now: number) => expiresAt !== undefined && expiresAt <= now;

/** The head, if its thread exists. */
export const aliveHead = (head: Head | undefined, now: number) =>
  head && !head.isDead && !isExpired(head, now) ? head : undefined;

/** What a view of the thread has beside entries and metadata. */
export function viewOf(head: Head): Omit<ThreadView, "entries" | "metadata"> {
  const { bounds, offset, search, createdAt, updatedAt, expiresAt } = head;
  return {
    revision: revisionOf(head),
    count: SequenceBounds.countOf(bounds),
    first: SequenceBounds.firstOf(bounds) - offset,
    last: Math.max(0, SequenceBounds.lastOf(bounds) - offset),
    newestCompaction: Math.max(0, search.newestCompaction - offset),
    ...{ createdAt, updatedAt, ...(expiresAt !== undefined && { expiresAt }) },
  };
}

const numeric = (value: number): AttributeValue => ({ N: String(value) });
/** Absent if it is the usual value, as a head should fit into 1 KB. */
const unless = (usual: number | null | undefined, name: string, value: number | null | undefined): Item =>
  value === usual || value == null ? {} : { [name]: numeric(value) };

export function itemOfHead(threadId: string, head: Head): StoredHead {
  const { bounds, search, dropped, operations, leaving } = head;
  const { packed, mark, past } = operations;
  const item = {
    ...keyOf(threadId, HEAD),
    ...{ inc: { S: head.incarnation }, n: numeric(head.n), v: numeric(head.version) },
    ...(head.isDead ? { dead: { BOOL: true } } : { [SHARD_ATTRIBUTE]: { S: shardOf(threadId) } }),
    ...{ first: numeric(bounds.first), next: numeric(bounds.next) },
    ...{ ...unless(null, "pinned", bounds.pinned), ...unless(null, "compaction", bounds.compaction) },
    ...{ ...unless(1, "userless", search.userless), ...unless(1, "startless", search.startless) },
    ...unless(0, "newest", search.newestCompaction),
    ...(head.kinds !== "" && { kinds: { S: head.kinds } }),
    ...{ created: numeric(head.createdAt), updated: numeric(head.updatedAt) },
    ...unless(undefined, "expires", head.expiresAt),
    ...expiryOf(head.until),
    ...{
      ...unless(0, "offset", head.offset),
      ...unless(0, "began", head.began),
      ...unless(0, "meta", head.metadata),
      ...unless(0, "paged", head.paged),
    },
    ...{ ...unless(0, "dropN", dropped.n), ...unless(0, "dropFrom", dropped.from) },
    ...(packed.length > 0 && { ops: { B: packed } }),
    ...{ ...unless(0, "opsN", mark.n), ...unless(0, "opsAt", mark.at) },
    ...listOf(
      "past",
      past.map(({ incarnation, began, n, until }) => [incarnation, began, n, until]),
    ),
    ...listOf(
      "leaving",
      leaving.map(({ from, to, n, isReused, batch }) => [
        from,
        to,
        n,
        isReused ? 1 : 0,
        ...(batch ? [batch] : []),
      ]),
    ),
    ...(head.isLowering && { lowering: { BOOL: true } }),
  };
  return { head, item };
}

const listOf = (name: string, rows: readonly (readonly (string | number)[])[]): Item =>
  rows.length === 0
    ? {}
    : {
        [name]: {
          L: rows.map((row) => ({
            L: row.map((value) => (typeof value === "string" ? { S: value } : numeric(value))),
          })),
        },
      };

const damagedHead = () =>
  new StoreError("CORRUPT", "dynamodb: the thread is damaged: its head cannot be read; delete the thread");

/** @throws StoreError `CORRUPT` if an attribute is damaged. */
export function headOf(item: Item): Head {
  const number = (name: string, usual?: number) => countOf(item[name], usual);
  const optional = (name: string) => (item[name] === undefined ? undefined : number(name));
  const until = optional(TTL_ATTRIBUTE);
  const { inc, kinds, ops, dead, lowering } = item;
  if (!inc?.S || (kinds && kinds.S === undefined) || (ops && ops.B === undefined)) throw damagedHead();
  const head: Head = {
    incarnation: inc.S,
    ...{ n: number("n"), version: number("v"), isDead: dead?.BOOL === true },
    ...{ offset: number("offset", 0), began: number("began", 0) },
    bounds: {
      pinned: optional("pinned") ?? null,
      compaction: optional("compaction") ?? null,
      first: number("first"),
      next: number("next"),
    },
    search: {
      userless: number("userless", 1),
      startless: number("startless", 1),
      newestCompaction: number("newest", 0),
    },
    kinds: kinds?.S ?? "",
    ...{ createdAt: number("created"), updatedAt: number("updated"), expiresAt: optional("expires") },
    until: until === undefined ? undefined : until * 1_000,
    ...{ metadata: number("meta", 0), paged: number("paged", 0) },
    dropped: { n: number("dropN", 0), from: number("dropFrom", 0) },
    operations: {
      packed: ops?.B ?? NO_OPERATIONS.packed,
      mark: { n: number("opsN", 0), at: number("opsAt", 0) },
      past: rowsOf(item.past).map(([incarnation, began, n, end]) => ({
        incarnation: incarnation?.S ?? "",
        ...{ began: countOf(began), n: countOf(n), until: countOf(end) },
      })),
    },
    leaving: rowsOf(item.leaving).map(([from, to, n, reused, batch]) => ({
      ...{ from: countOf(from), to: countOf(to), n: countOf(n), isReused: countOf(reused) === 1 },
      ...(batch?.S !== undefined && { batch: batch.S }),
    })),
    isLowering: lowering?.BOOL === true,
  };
  const { bounds, n } = head;
  const rising = [...SequenceBounds.pinnedOf(bounds), bounds.first];
  const isRising = rising.every((sequence, index) => sequence > (rising[index - 1] ?? 0));
  if (
    !isRising ||
    bounds.first > bounds.next ||
    head.offset >= bounds.first ||
    head.began >= head.n ||
    bounds.next > MOST_MESSAGES ||
    n < 1
  )
    throw damagedHead();
  return head;
}

export const storedHeadOf = (item: Item): StoredHead => ({ item, head: headOf(item) });

function countOf(value: AttributeValue | undefined, usual?: number): number {
  if (value === undefined && usual !== undefined) return usual;
  const count = Number(value?.N);
  if (!Number.isSafeInteger(count) || count < 0) throw damagedHead();
  return count;
}

function rowsOf(value: AttributeValue | undefined): AttributeValue[][] {
  if (value && !value.L) throw damagedHead();
  return (value?.L ?? []).map((row) => row.L ?? []);
}
