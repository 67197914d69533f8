import type { Position } from "./position.ts";

/** How a directory is stored: the thread ids of its leaves, and its notes, entries and positions as plain values. */
export interface DirectoryLayout<N, E extends Incarnate> {
  /** The thread of a leaf. `id` is 16 random characters. */
  leafThread(id: string): string;
  encodeNote(note: N): unknown;
  decodeNote(stored: unknown): N;
  encodeEntry(entry: E): unknown;
  decodeEntry(stored: unknown): E;
  encodePosition(position: Position): unknown;
  decodePosition(stored: unknown): Position;
}

/** What the notes of a directory say about its leaves. */
export interface Overlay<E extends Incarnate> {
  /** The entries that the notes add. */
  readonly placed: readonly E[];
  /** Whether an entry of a leaf still counts. */
  keeps(entry: E): boolean;
}

/** What tells the entries of an incarnation from others, and an older one from a newer one. */
export interface Incarnate extends Position {
  /** Random, new for each creation of the member. */
  readonly incarnation: string;
  /** Counts the changes of an incarnation: of two entries of one incarnation the one with the higher number is right. */
  readonly version: number;
}

/**
 * What tells entries apart. Each incarnation of a member has its own entry: nothing in its notes says which incarnation
 * came first, so a late note of an ended one must not take the place of a later one.
 */
export function incarnationText({ key, incarnation }: Pick<Incarnate, "key" | "incarnation">): string {
  return JSON.stringify([key, incarnation]);
}

/** What a compaction does with the notes of a directory. */
export interface Sorting<E extends Incarnate> extends Overlay<E> {
  /** Where the leaves may hold entries that no longer count. */
  readonly outdated: readonly Position[];
  /** Whether entries that no longer count may be anywhere in the leaves. */
  readonly isScattered?: boolean;
  /** The notes that stay in the log, as stored. */
  readonly carried?: readonly unknown[];
}

/** A kind of directory: how it is stored, and how its notes are sorted in. */
export interface DirectoryRules<N, E extends Incarnate> {
  readonly layout: DirectoryLayout<N, E>;
  /** Sorts notes, which are in the order of the log. */
  sort(notes: readonly N[]): Sorting<E>;
}
