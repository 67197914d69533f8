import type { Revision } from "@scrollback/store-core";

/** The id of a thread's entry in each list that has the thread, by the name of its index. Each id is used once. */
export type Places = Readonly<Record<string, string>>;

/** Where a thread is listed: a part of its head, which changes with the rest of the head in one commit. */
export interface Listed {
  /** The thread's key in these indexes. */
  readonly key: string;
  /** See {@link Member.names}. */
  readonly names?: readonly string[];
  /** The thread's place in these indexes, so that its entries can be made again. */
  readonly order: number;
  readonly in: Places;
  /** The entries in lists that an earlier commit took the thread from. They may not be removed yet. */
  readonly left?: Places;
}

/** What lists need of a thread's head. */
export interface Draft<T> {
  /** Counts the commits of the thread, from 1. */
  readonly version: number;
  /** The place in lists. Never decreases. */
  readonly order: number;
  /** What entries say about the thread. Undefined, or if the entry would take more than 8 KiB: nothing, so that lists read the head. */
  readonly told?: T | undefined;
  /** Lists read the head, because it says more than the entry. */
  readonly isDoubtful?: boolean | undefined;
}

/** A listed thread at one revision. */
export interface Snapshot<T> extends Draft<T> {
  readonly revision: Revision;
  /** Random, new for each thread of the same id. */
  readonly incarnation: string;
  readonly listed: Listed;
  /** When the thread expires, in milliseconds since 1970. Absent: never. */
  readonly expiresAt?: number | undefined;
  /** What its entries are found by in {@link Lists.nearest}. Absent: see {@link Member.vectors}. */
  readonly vectors?: readonly (readonly number[])[] | undefined;
}

/** A thread that does not exist, or has no head. */
export interface Missing {
  readonly revision: Revision | null;
  readonly listed?: undefined;
}

/** The names of a member, as an entry has them. */
export interface Names {
  readonly key: string;
  /** See {@link Member.names}. */
  readonly names?: readonly string[] | undefined;
}

/** A thread that a layer lists, whether or not it exists. */
export interface Member<T, S extends Snapshot<T> = Snapshot<T>> {
  readonly threadId: string;
  /** Its key in each index: 1 to 1,024 bytes. */
  readonly key: string;
  /** The names that {@link Member.key} stands for, if it does not contain them. Each entry has them. */
  readonly names?: readonly string[] | undefined;
  /** The indexes that can have the thread when its head does not say where it is. */
  readonly bases: readonly string[];
  /** Reads the head. @throws StoreError `CORRUPT` if it is unreadable. */
  read(signal?: AbortSignal): Promise<S | Missing>;
  /**
   * The vectors of a snapshot without them, for an entry that was told at version `told`: a process may have died before it told new ones.
   * Undefined: the entry keeps its own. Absent: all entries do.
   */
  vectors?(snapshot: S, told: number): Promise<Snapshot<T>["vectors"]>;
  /** The parts that a head names, see {@link Parts}. Absent: threads of the layer have none. */
  parts?(snapshot: S): readonly string[];
  /** Releases what the messages of the thread used, after it was deleted. Absent: they use nothing. */
  release?(signal: AbortSignal | undefined): Promise<void>;
  /** Releases what earlier threads of its id have left, while it is there. */
  sweep?(signal: AbortSignal | undefined): Promise<void>;
  /** Commits the same head with other places, as a new version. @throws StoreError `CONFLICT` if the thread has changed. */
  place(snapshot: S, listed: Listed): Promise<S>;
}

/** The value of an entry, whose version says what it is: see `docs/decisions/decisions.md`. */
export interface EntryValue<T> {
  readonly threadId: string;
  /** All places of the thread, so that a deletion finds them without the head. */
  readonly listed: Listed;
  readonly told?: T;
  readonly isDoubtful?: true;
  /** When the thread expires. The entry stays longer, because a clock may be wrong. */
  readonly until?: number;
}

/** The version of an entry whose thread is being created. Later versions are those of the head. */
export const OPEN = 0;
/** The version of an entry that was open when an unreadable thread was deleted. A creation starts over with another one. */
export const SEALED = Number.MAX_SAFE_INTEGER - 1;
/** The version of an entry whose thread is being deleted. */
export const CLOSING = Number.MAX_SAFE_INTEGER;

/** The places of {@link Listed} alone. */
export type InAndLeft = Pick<Listed, "in" | "left">;

/** One entry of a thread. */
export type Place = readonly [index: string, id: string];

/** The entries of a thread. */
export function placesOf({ in: current, left = {} }: InAndLeft): readonly Place[] {
  return [...Object.entries(current), ...Object.entries(left)];
}

/** The entries that a head does not name. */
export function unnamedOf(
  places: readonly Place[],
  head: { readonly listed?: Listed | undefined },
): readonly Place[] {
  return places.filter(([index, id]) => !isNamed(head, index, id));
}

/** Whether a head names an entry, also as one that was left: only who tells the new lists removes it. */
export function isNamed(
  { listed }: { readonly listed?: Listed | undefined },
  index: string,
  id: string,
): boolean {
  return listed?.in[index] === id || listed?.left?.[index] === id;
}

/** Whether a value says where a thread is listed. */
export function isListing(value: unknown): value is Listed {
  const { key, names = [], order, in: current, left = {} } = Object(value) as Partial<Listed>;
  return (
    isName(key) &&
    Array.isArray(names) &&
    names.every(isName) &&
    Number.isFinite(order) &&
    isPlaces(current) &&
    Object.keys(current).length > 0 &&
    isPlaces(left)
  );
}

/** The value of an entry; undefined if it is damaged, or not an entry of a list of threads. */
export function entryValueOf<T>(value: unknown): EntryValue<T> | undefined {
  const found = Object(value) as EntryValue<T>;
  return isName(found.threadId) && isListing(found.listed) ? found : undefined;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isPlaces(value: unknown): value is Places {
  return typeof value === "object" && value !== null && Object.values(value).every(isName);
}
