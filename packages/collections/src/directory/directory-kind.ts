import type { Position } from "./position.ts";

/** The stored form of a directory: the thread ids of its leaves, and its notes, entries and positions as plain values. */
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

/** The effect of a directory's notes on its leaves. */
export interface Overlay<E extends Incarnate> {
  /** The entries that the notes add. */
  readonly placed: readonly E[];
  /** Whether an entry of a leaf still counts. */
  keeps(entry: E): boolean;
}

/** Distinguishes the entries of incarnations, and older entries from newer ones. */
export interface Incarnate extends Position {
  /** Random, new for each creation of the member. */
  readonly incarnation: string;
  /** Counts the changes of an incarnation. Of two entries of one incarnation, the one with the higher number applies. */
  readonly version: number;
}

/**
 * The identity of an entry. Each incarnation of a member has its own entry. Its notes do not contain the order of incarnations,
 * so a late note of an ended one must not replace a later one.
 */
export function incarnationText({ key, incarnation }: Pick<Incarnate, "key" | "incarnation">): string {
  return JSON.stringify([key, incarnation]);
}

/** How a compaction applies the notes of a directory. */
export interface Sorting<E extends Incarnate> extends Overlay<E> {
  /** Positions where the leaves may hold entries that no longer count. */
  readonly outdated: readonly Position[];
  /** Whether entries that no longer count may be anywhere in the leaves. */
  readonly isScattered?: boolean;
  /** The stored notes that stay in the log. */
  readonly carried?: readonly unknown[];
}

/** A kind of directory: its stored form, and the rules by which its notes are sorted in. */
export interface DirectoryKind<N, E extends Incarnate> {
  readonly layout: DirectoryLayout<N, E>;
  /** Sorts notes, given in the order of the log. */
  sort(notes: readonly N[]): Sorting<E>;
}
