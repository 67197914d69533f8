import type { Member, Names, Snapshot } from "./listed.ts";

/** A page of a list. */
export interface ListRequest<T, S extends Snapshot<T>> {
  readonly index: string;
  readonly direction: "up" | "down";
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  memberOf(names: Names): Member<T, S>;
  /** Whether what an entry tells is not damaged, otherwise the head is read. Default: it is not. */
  isTold?(told: T): boolean;
  /** Default: all. A page with a filter may be short. */
  filter?(told: T): boolean;
  /** Reads the head of each thread. Default: only where the entry may not say what the head says. */
  readonly readsAll?: boolean;
}

/** A thread on a page. */
export interface ListItem<T, S extends Snapshot<T>> {
  readonly member: Member<T, S>;
  readonly told: T | undefined;
  /** The place in the list. */
  readonly order: number;
  /** The head, if it was read. `"unreadable"`: it is damaged. */
  readonly snapshot?: S | "unreadable";
  /** Of a search: how near the entry is, and its version. */
  readonly score?: number;
  readonly version?: number;
}

/** One page of a list. */
export interface ListPage<T, S extends Snapshot<T>> {
  readonly items: readonly ListItem<T, S>[];
  /** Absent on the last page. */
  readonly cursor?: string;
}
