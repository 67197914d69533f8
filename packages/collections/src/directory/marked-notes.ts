import {
  type DirectoryKind,
  type DirectoryLayout,
  type Incarnate,
  incarnationText,
} from "./directory-kind.ts";
import { type Key, keyText } from "./position.ts";

/** A member in a directory with marks. Lists return it without reading the member. */
export interface MarkedEntry<V = unknown> extends Incarnate {
  /** The summary that lists return. */
  readonly value: V;
  /** When the member expires, in milliseconds since 1970. */
  readonly expiresAt?: number;
}

/** One message of a directory's thread, about one incarnation of one member. All fields except the member's are optional. */
export interface MarkedNote<V = unknown> {
  readonly key: Key;
  readonly incarnation: string;
  /** A write is running, or may be. Lists read the member until the mark is closed. `at` is in milliseconds since 1970. */
  readonly marks?: readonly Mark[];
  /** The member's new state. Applies only if one of the marks in `proof` is open and the version is higher. */
  readonly entry?: Pick<MarkedEntry<V>, "order" | "version" | "value" | "expiresAt">;
  readonly proof?: readonly string[];
  /** The previous order numbers of the member. */
  readonly was?: readonly number[];
  /** The marks that this note closes. */
  readonly closes?: readonly string[];
  /** The previous order numbers are unknown, because a writer died. */
  readonly isLost?: boolean;
}

export interface Mark {
  readonly token: string;
  readonly at: number;
}

/** The layout of a directory with marks: plain values by name. */
export function markedLayout<V>(
  leafThread: (id: string) => string,
): DirectoryLayout<MarkedNote<V>, MarkedEntry<V>> {
  return {
    leafThread,
    encodeNote: (note) => note,
    decodeNote: (stored) => stored as MarkedNote<V>,
    encodeEntry: (entry) => entry,
    decodeEntry: (stored) => stored as MarkedEntry<V>,
    encodePosition: ({ order, key }) => ({ order, key }),
    decodePosition: (stored) => stored as MarkedEntry<V>,
  };
}

/** The content of the notes about one incarnation. */
export interface IncarnationState<V> {
  readonly key: Key;
  readonly incarnation: string;
  /** Open marks, by token. */
  readonly marks: Map<string, Mark>;
  entry?: MarkedEntry<V> | undefined;
  readonly was: Set<number>;
  isLost: boolean;
}

/** The content of a directory's notes: the incarnations of each member, by the text of its key. */
export type MarkedState<V> = Map<string, Map<string, IncarnationState<V>>>;

/** The rules by which a note takes effect. Tests supply unsound rules and expect a failure. */
export interface MarkSemantics {
  /** Whether an entry applies, given whether it has an open mark, and the current entry of its incarnation. */
  counts(isProved: boolean, version: number, before: { readonly version: number } | undefined): boolean;
  /** Whether the end of `ended` closes the marks of `incarnation`. */
  closes(ended: string, incarnation: string): boolean;
  /** Whether a mark is written before the write that it announces. */
  readonly marksFirst: boolean;
}

export const soundSemantics: MarkSemantics = Object.freeze({
  // A late note of an ended incarnation has no open mark. A slow writer's note has a lower version.
  counts: (isProved: boolean, version: number, before: { readonly version: number } | undefined) =>
    isProved && (before === undefined || before.version <= version),
  closes: (ended: string, incarnation: string) => ended === incarnation,
  marksFirst: true,
});

/** Applies notes in the order of the log. */
export function applyNotes<V>(
  notes: readonly MarkedNote<V>[],
  semantics: MarkSemantics = soundSemantics,
): MarkedState<V> {
  const state: MarkedState<V> = new Map();
  for (const note of notes) {
    const incarnations = state.get(keyText(note)) ?? new Map<string, IncarnationState<V>>();
    state.set(keyText(note), incarnations);
    const one = incarnations.get(note.incarnation) ?? newState<V>(note);
    incarnations.set(note.incarnation, one);
    applyNote(one, note, semantics);
  }
  return state;
}

function newState<V>({ key, incarnation }: MarkedNote<V>): IncarnationState<V> {
  return { key, incarnation, marks: new Map(), was: new Set(), isLost: false };
}

function applyNote<V>(one: IncarnationState<V>, note: MarkedNote<V>, semantics: MarkSemantics): void {
  for (const mark of note.marks ?? []) one.marks.set(mark.token, mark);
  if (note.entry) {
    const isProved = (note.proof ?? []).some((token) => one.marks.has(token));
    if (semantics.counts(isProved, note.entry.version, one.entry)) {
      if (one.entry) one.was.add(one.entry.order);
      one.entry = { key: one.key, incarnation: one.incarnation, ...note.entry };
    } else one.was.add(note.entry.order);
  }
  for (const order of note.was ?? []) one.was.add(order);
  for (const token of note.closes ?? []) one.marks.delete(token);
  if (note.isLost) one.isLost = true;
}

/** Whether a list must read a member: a write may be running, or two incarnations are noted. */
export function isUnsure<V>(incarnations: ReadonlyMap<string, IncarnationState<V>>): boolean {
  let entries = 0;
  for (const { marks, entry } of incarnations.values()) {
    if (marks.size > 0) return true;
    if (entry) entries += 1;
  }
  return entries > 1;
}

/** Whether the entries of a member in the leaves apply, given its notes. */
export function keepsEntries<V>(incarnations: ReadonlyMap<string, IncarnationState<V>> | undefined): boolean {
  for (const { entry } of incarnations?.values() ?? []) if (entry) return false;
  return true;
}

/** The kind of directories with marks. The notes of members with open marks are not sorted into leaves. */
export function markedKind<V>(
  layout: DirectoryLayout<MarkedNote<V>, MarkedEntry<V>>,
  semantics: MarkSemantics = soundSemantics,
): DirectoryKind<MarkedNote<V>, MarkedEntry<V>> {
  return {
    layout,
    sort(notes) {
      const state = applyNotes(notes, semantics);
      const placed: MarkedEntry<V>[] = [];
      const outdated: { order: number; key: Key }[] = [];
      const carried: MarkedNote<V>[] = [];
      let isScattered = false;
      for (const incarnations of state.values()) {
        const isCarried = isUnsure(incarnations);
        for (const one of incarnations.values()) {
          if (isCarried) {
            carried.push(...carriedNotes(one));
            continue;
          }
          if (one.entry) placed.push(one.entry);
          for (const order of one.was) outdated.push({ order, key: one.key });
          isScattered ||= one.isLost;
        }
      }
      const keeps = (entry: MarkedEntry<V>) => keepsEntries(state.get(keyText(entry)));
      return { placed, outdated, isScattered, carried, keeps };
    },
  };
}

/** Notes with the same effect as all stored notes of one incarnation. */
function carriedNotes<V>(one: IncarnationState<V>): MarkedNote<V>[] {
  const { key, incarnation, marks, entry, was, isLost } = one;
  const history = { key, incarnation, was: [...was], ...(isLost && { isLost }) };
  // An entry brings a mark that proves it, and closes that mark.
  const token = "carried";
  return [
    history,
    ...(entry
      ? [
          {
            ...{ key, incarnation, marks: [{ token, at: 0 }] },
            ...{ entry: withoutKey(entry), proof: [token], closes: [token] },
          },
        ]
      : []),
    ...(marks.size > 0 ? [{ key, incarnation, marks: [...marks.values()] }] : []),
  ];
}

function withoutKey<V>({
  order,
  version,
  value,
  expiresAt,
}: MarkedEntry<V>): NonNullable<MarkedNote<V>["entry"]> {
  return { order, version, value, ...(expiresAt !== undefined && { expiresAt }) };
}

/** Whether a note has an effect only on a member with an open mark, and brings no mark itself. */
export function needsOpenMark<V>({ marks, entry, proof, closes }: MarkedNote<V>): boolean {
  return marks === undefined && ((closes ?? []).length > 0 || (entry !== undefined && proof !== undefined));
}

/** The tokens of all open marks. */
export function openMarks<V>(notes: readonly MarkedNote<V>[], semantics: MarkSemantics): Set<string> {
  const state = applyNotes(notes, semantics);
  const incarnations = [...state.values()].flatMap((one) => [...one.values()]);
  return new Set(incarnations.flatMap(({ marks }) => [...marks.keys()]));
}

/** The open marks after a note. An ended incarnation's marks stay, because no process adds more notes of it. */
export function marksAfter<V>(
  { marks = [], closes = [] }: MarkedNote<V>,
  open: ReadonlySet<string>,
): ReadonlySet<string> {
  if (marks.length + closes.length === 0) return open;
  const next = new Set(open);
  for (const { token } of marks) next.add(token);
  for (const token of closes) next.delete(token);
  return next;
}

/**
 * What a note of {@link needsOpenMark} still changes; undefined if nothing. The other members were removed, or a list has closed their marks.
 */
export function effectOf<V>(note: MarkedNote<V>, open: ReadonlySet<string>): MarkedNote<V> | undefined {
  if (note.proof?.some((token) => open.has(token))) return note;
  const { entry, proof, ...others } = note;
  return note.closes?.some((token) => open.has(token)) ? others : undefined;
}

/** Joins two waiting notes of one incarnation into one. Notes with marks are not joined. */
export function joinMarkedNotes<V>(earlier: MarkedNote<V>, later: MarkedNote<V>): MarkedNote<V> {
  const isOlder = earlier.entry && (!later.entry || later.entry.version < earlier.entry.version);
  const entry = isOlder ? earlier.entry : later.entry;
  return {
    key: later.key,
    incarnation: later.incarnation,
    ...(entry && { entry, proof: union(earlier.proof, later.proof) }),
    was: union(
      union(earlier.was, later.was),
      [earlier.entry, later.entry].flatMap((one) => one?.order ?? []),
    ),
    closes: union(earlier.closes, later.closes),
    ...((earlier.isLost || later.isLost) && { isLost: true }),
  };
}

function union<T>(a: readonly T[] = [], b: readonly T[] = []): T[] {
  return [...new Set([...a, ...b])];
}

export function noteText<V>(note: MarkedNote<V>): string {
  const marks = (note.marks ?? []).map(({ token }) => token);
  return marks.length > 0 ? JSON.stringify(marks) : incarnationText(note);
}
