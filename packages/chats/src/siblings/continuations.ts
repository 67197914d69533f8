import { byteLength } from "@scrollback/store-core/internal";
import type { SiblingGroup } from "../chat.ts";
import type { StoredEntry } from "../read/entries.ts";

/** A message of the active path: its id, and when it was created. */
type Beside = readonly [id: string, createdAt: number];

/** A continuation that is not active. Its messages are a part of the chat's thread; the head has this under the id of the part. */
export interface Continuation {
  /** The part that it branches off; absent: the active path. */
  readonly in?: string;
  /** The message before it; `null`: it begins the chat. */
  readonly behind: string | null;
  /** The message that has its place on the path that it branches off; absent: that path ends there. */
  readonly beside?: Beside;
  /** Its first message. */
  readonly first: Beside;
  /** When it was left. */
  readonly leftAt: number;
  /** With `ttlMs`: when its messages expire. */
  readonly expiresAt?: number;
  /** Its encoded size. */
  readonly bytes: number;
  /** Whether its messages have files. */
  readonly files?: true;
}

/** The continuations of a chat that are not active, by the ids of their parts. */
export type Continuations = Readonly<Record<string, Continuation>>;

/** The bounds of what a chat keeps beside the active path. */
export interface SiblingBounds {
  readonly maxSiblings: number;
  readonly maxSiblingBytes: number;
}

/** A chat keeps at most this many continuations, because each commit of its head writes what it says of them: at most so many bytes. */
export const MAX_CONTINUATIONS = 200;
const MAX_HEAD_BYTES = 64 * 1_024;

/** The messages that a change leaves, and that the chat keeps. */
export interface Left {
  readonly part: string;
  readonly continuation: Continuation;
  /** The ids of its messages, by those that they had on the path. */
  readonly ids: ReadonlyMap<string, string>;
}

type Ids = Pick<StoredEntry<{ readonly id: string }>, "message" | "createdAt">;

/**
 * The continuations after a change of the path. Those behind a message that the change drops go with it: into the part that keeps this
 * message, or for good.
 *
 * @param before the newest entries of the path, as far as they are read; `after`: what takes their place.
 * @param isWhole whether these are all entries of the path.
 */
export function afterChange(
  all: Continuations,
  before: readonly Ids[],
  after: readonly Ids[],
  isWhole: boolean,
  left?: Left,
): Continuations {
  // Nearly every chat.
  if (!left && Object.keys(all).length === 0) return all;
  const ids = new Set(after.map(({ message }) => message.id));
  const read = new Set(before.map(({ message }) => message.id));
  /** Whether a message is not on the path any more, or another one has its id, and what followed it is dropped. */
  const isDropped = (id: string) => {
    const index = before.findLastIndex(({ message }) => message.id === id);
    if (index < 0) return false;
    const later = before.slice(index + 1);
    const isReplaced = !after.some(({ message }) => message === before[index]?.message);
    return (
      !ids.has(id) || (isReplaced && later.length > 0 && !later.some(({ message }) => ids.has(message.id)))
    );
  };
  const next = (behind: string | null): Beside | undefined => {
    const index = behind === null ? -1 : after.findLastIndex(({ message }) => message.id === behind);
    const entry = after[index + 1];
    return entry && [entry.message.id, entry.createdAt];
  };
  const there = left ? { ...all, [left.part]: left.continuation } : all;
  const moved = Object.entries(there).flatMap(([part, one]): [string, Continuation][] => {
    if (one.in !== undefined) return [[part, one]];
    const { behind, beside: was, ...rest } = one;
    if (behind !== null && left?.ids.has(behind)) return [[part, movedInto(left, one)]];
    if (behind !== null && isDropped(behind)) return [];
    const isRead = behind === null ? isWhole : ids.has(behind);
    // The first entry that is read may take the place of another one, behind a message that is not read.
    const isFirst = !isRead && was !== undefined && read.has(was[0]);
    if (!isRead && !isFirst) return [[part, one]];
    const beside = isRead ? next(behind) : next(null);
    return [[part, { ...rest, behind, ...(beside && { beside }) }]];
  });
  return withoutOrphans(Object.fromEntries(moved));
}

/** A continuation that branches off what is left. */
function movedInto({ part, ids }: Left, { behind, beside, ...one }: Continuation): Continuation {
  const idOf = (id: string) => ids.get(id) ?? id;
  return {
    ...one,
    in: part,
    behind: behind === null ? null : idOf(behind),
    ...(beside && { beside: [idOf(beside[0]), beside[1]] }),
  };
}

/** The continuations without one of them, and those that branch off it. */
export function without(all: Continuations, part: string): Continuations {
  const { [part]: _, ...others } = all;
  return withoutOrphans(others);
}

/** The continuations after one of them has become the end of the active path. */
export function afterSwitch(all: Continuations, part: string): Continuations {
  const { [part]: _, ...others } = all;
  return Object.fromEntries(
    Object.entries(others).map(([id, one]) => {
      const { in: of, ...rest } = one;
      return [id, of === part ? rest : one];
    }),
  );
}

function withoutOrphans(all: Continuations): Continuations {
  const there = Object.entries(all).filter(([, one]) => one.in === undefined || Object.hasOwn(all, one.in));
  return there.length === Object.keys(all).length ? all : withoutOrphans(Object.fromEntries(there));
}

/**
 * The continuations within the bounds, but never without the newest one. Of a place with too many siblings the one that was left first
 * goes, with what branches off it. Otherwise the one that was left first of those that nothing branches off.
 */
export function withinBounds(
  all: Continuations,
  bounds: SiblingBounds,
  newest: Pick<Left, "part" | "continuation">,
): Continuations {
  const entries = Object.entries(all);
  const group = entries.filter(
    ([, one]) => one.in === undefined && one.behind === newest.continuation.behind,
  );
  const bytes = entries.reduce((sum, [, one]) => sum + one.bytes, 0);
  // The active sibling counts.
  const isGroupFull = group.length >= bounds.maxSiblings;
  const isTooMuch =
    bytes > bounds.maxSiblingBytes ||
    entries.length > MAX_CONTINUATIONS ||
    byteLength(JSON.stringify(all)) > MAX_HEAD_BYTES;
  if (!isGroupFull && !isTooMuch) return all;
  const branched = new Set(entries.map(([, one]) => one.in));
  const [oldest] = (isGroupFull ? group : entries.filter(([part]) => !branched.has(part)))
    .filter(([part]) => part !== newest.part)
    .toSorted(([, one], [, other]) => one.leftAt - other.leftAt);
  return oldest ? withinBounds(without(all, oldest[0]), bounds, newest) : all;
}

/** The ids of the first messages: of siblings, an id names one. */
export function firstIds(all: Continuations): ReadonlySet<string> {
  return new Set(Object.values(all).map(({ first: [id] }) => id));
}

/** The part of the inactive sibling whose first message has this id. */
export function partOf(all: Continuations, messageId: string): string | undefined {
  return Object.entries(all).find(([, one]) => one.in === undefined && one.first[0] === messageId)?.[0];
}

/** The siblings on the active path. */
export function groupsOf(all: Continuations, now: number): SiblingGroup[] {
  const active = Object.values(all).filter(
    ({ in: of, expiresAt = Number.POSITIVE_INFINITY }) => of === undefined && expiresAt > now,
  );
  return [...Map.groupBy(active, ({ behind }) => behind)].map(([behind, group]) => {
    const beside = group[0]?.beside;
    const members = [...group.map(({ first }) => first), ...(beside ? [beside] : [])];
    const ids = members
      .toSorted(([id, time], [other, otherTime]) => time - otherTime || (id < other ? -1 : 1))
      .map(([id]) => id);
    return { behind, ids, ...(beside && { active: beside[0] }) };
  });
}
