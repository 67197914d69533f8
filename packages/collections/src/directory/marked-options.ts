import type { StoreFactory } from "@scrollback/store-core";
import type { DirectoryClock } from "../clock.ts";
import type { CompactionSizes } from "./leaf-sizes.ts";
import type { MarkedEntry, MarkSemantics } from "./marked-notes.ts";
import type { Direction, Key } from "./position.ts";

/** One incarnation of one member of a directory. */
export interface MemberOf {
  /** The parts of the member's name; together at most 1,024 bytes. */
  readonly key: Key;
  /** Random, new for each creation of the member. 1 to 64 bytes. */
  readonly incarnation: string;
}

/** The argument of {@link MarkedDirectories.purge}. */
export interface PurgedMember extends Pick<MemberOf, "key"> {
  readonly incarnation?: string | undefined;
  readonly order?: number | undefined;
}

/** The state of a member after a write. */
export interface Written<V> extends Pick<MarkedEntry<V>, "order" | "version" | "value" | "expiresAt"> {
  /** The member's previous order number, `null` for a new member. Without it the next compaction reads every leaf. */
  readonly was?: number | null | undefined;
}

/** The state of a member, as a list reads it. */
export type MemberNow<V> = Omit<MarkedEntry<V>, "key">;

/** Options of {@link MarkedDirectories}. */
export interface MarkedDirectoriesOptions {
  /** A store factory of any backend and any message type, without `maxMessages`. */
  readonly stores: Pick<StoreFactory, "settings" | "withTraits">;
  /** Returns the thread id of a leaf. `id` is 16 random characters. */
  leafThread(id: string): string;
  /** The time in milliseconds for which one mark covers the writes of this process to its member. Default 30,000. */
  readonly holdMs?: number;
  /** Default: the clocks of this process. */
  readonly clock?: DirectoryClock;
  /** Called with errors in the background. The failed work is retried automatically. */
  onError?(error: unknown): void;
}

/** Internals that tests replace. */
export interface Internals {
  readonly semantics?: MarkSemantics;
  readonly sizes?: CompactionSizes;
  readonly mostHeld?: number;
}

/** The request of {@link MarkedDirectories.page}. */
export interface MarkedPageRequest<V> {
  /** Default `"desc"`: the highest order number first. */
  readonly direction?: Direction;
  /** 1 to 1,000. */
  readonly limit: number;
  /** The `nextPageToken` of the previous page. */
  readonly pageToken?: string | undefined;
  /** Whether the page also has members that have expired. Default: not. */
  readonly includesExpired?: boolean;
  /** Names the filter. A token of another filter or direction is rejected. */
  readonly filterName?: string;
  filter?(entry: MarkedEntry<V>): boolean;
  /**
   * Reads a member; returns undefined if there is none, and `"unreadable"` for a damaged one, whose entry then stays as it is. Called
   * for members whose entry cannot be trusted.
   */
  read(key: Key): Promise<MemberNow<V> | "unreadable" | undefined>;
  readonly signal?: AbortSignal | undefined;
}

/** One page of a directory. `nextPageToken` is absent on the last page. */
export interface MarkedPage<V> {
  readonly entries: MarkedEntry<V>[];
  readonly nextPageToken?: string;
}
