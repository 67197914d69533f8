import type { Item } from "@langchain/langgraph-checkpoint";
import type { Listed, Member, Snapshot } from "@scrollback/collections";
import type { Revision } from "@scrollback/store-core";
import type { ItemFields } from "./embedder.ts";
import type { Place } from "./item-names.ts";

/** The stored form of an item in its record. */
export interface StoredItem {
  /** Random, new for each creation. */
  readonly incarnation: string;
  /** The number of writes of this incarnation. */
  readonly writes: number;
  readonly value: Record<string, unknown>;
  /** Milliseconds since 1970, as the other times. */
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When its thread expires, by the clock of the process that wrote it; `null`: never. */
  readonly expiresAt: number | null;
  /** The fields that `put` gave. Absent: those of the store. */
  readonly index?: ItemFields;
}

/** An item at one revision. */
export interface ItemSnapshot extends Snapshot<true> {
  readonly stored: StoredItem;
  /** An entry told at this version or later has the vectors of this snapshot. Default: at its own. */
  readonly vectorsSince?: number;
}

export type ItemMember = Member<true, ItemSnapshot>;

/** An item that was read. */
export interface FoundItem {
  readonly member: ItemMember;
  readonly snapshot: ItemSnapshot;
  readonly item: Item;
  /** Whether its entry says what an earlier version of it said. */
  readonly isStale: boolean;
  /** Of a search by a query. */
  readonly score?: number;
}

/** An item at its next write. */
export function next(stored: StoredItem): StoredItem {
  return { ...stored, writes: stored.writes + 1 };
}

export function snapshotOf(stored: StoredItem, listed: Listed, revision: Revision): ItemSnapshot {
  const { incarnation, writes: version, expiresAt } = stored;
  const expiry = expiresAt !== null && { expiresAt };
  return { incarnation, version, order: listed.order, listed, told: true, revision, stored, ...expiry };
}

export function itemOf({ namespace, key }: Place, { value, createdAt, updatedAt }: StoredItem): Item {
  const times = { createdAt: new Date(createdAt), updatedAt: new Date(updatedAt) };
  return { value, key, namespace: [...namespace], ...times };
}
