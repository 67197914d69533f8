import type { ValueName } from "./log-message.ts";

/** Shorter stretches are stored again: a reference takes about as much space. */
const SHORTEST = 40;
/** A match is found by this many characters, from a quote or a brace on. */
const PROBE = 32;
/** A middle from this length on is also looked for in the middle of the base, which takes time for all of its characters. */
const LONG_MIDDLE = 256;

/** The number of characters that are compared at once. */
const COMPARED = 4_096;

/** A stretch of a value of the log that a new value may refer to, with its text. */
export interface Source {
  /** The position of the message in the log. */
  readonly position: number;
  readonly name: ValueName;
  /** Where the text begins in the value. */
  readonly start: number;
  readonly text: string;
  /** The position of the first message that a reader needs for it. */
  readonly from: number;
}

/** A part of a new text: a literal, or a stretch of the text of a source. */
export type Fragment = string | { readonly source: Source; readonly start: number; readonly end: number };

/** Finds stretches of texts. Reads the texts once, when it is asked first. */
export class SourceIndex {
  readonly #sources: readonly Source[];
  #places: Map<string, readonly [source: Source, at: number]> | undefined;

  constructor(sources: readonly Source[]) {
    this.#sources = sources;
  }

  /** Returns a source that has this probe, and where. */
  find(probe: string): readonly [source: Source, at: number] | undefined {
    this.#places ??= this.#read();
    return this.#places.get(probe);
  }

  #read(): Map<string, readonly [source: Source, at: number]> {
    const places = new Map<string, readonly [source: Source, at: number]>();
    for (const source of this.#sources)
      for (const at of anchors(source.text)) {
        const probe = source.text.slice(at, at + PROBE);
        if (!places.has(probe)) places.set(probe, [source, at]);
      }
    return places;
  }
}

/**
 * Describes `target` by what it shares with earlier texts: its beginning and its end with those of `base`, and the rest with any
 * stretch of `others`, and with the rest of `base` if it is long. No literal begins or ends within a surrogate pair.
 */
export function fragmentsOf(target: string, base: Source | undefined, others: SourceIndex): Fragment[] {
  const { head, tail } = base ? sharedEnds(base.text, target) : { head: 0, tail: 0 };
  const fragments: Fragment[] = [];
  const middle = target.slice(head, target.length - tail);
  if (base && head > 0) fragments.push({ source: base, start: 0, end: head });
  const indexes = [others];
  if (base && middle.length >= LONG_MIDDLE) {
    const rest = base.text.slice(head, base.text.length - tail);
    indexes.push(new SourceIndex([{ ...base, start: base.start + head, text: rest }]));
  }
  fragments.push(...matches(middle, indexes));
  if (base && tail > 0)
    fragments.push({ source: base, start: base.text.length - tail, end: base.text.length });
  return joined(fragments);
}

/** The lengths of the common beginning and the common end of two texts, 0 for short ones. */
function sharedEnds(base: string, target: string): { head: number; tail: number } {
  const shortest = Math.min(base.length, target.length);
  const headAt = (start: number, end: number) => base.slice(start, end) === target.slice(start, end);
  let head = commonLength(shortest, headAt);
  if (isWithinPair(target, head)) head -= 1;
  const tailAt = (start: number, end: number) =>
    base.slice(base.length - end, base.length - start) ===
    target.slice(target.length - end, target.length - start);
  let tail = commonLength(shortest - head, tailAt);
  if (isWithinPair(target, target.length - tail)) tail -= 1;
  return { head: head < SHORTEST ? 0 : head, tail: tail < SHORTEST && head < SHORTEST ? 0 : tail };
}

/** The highest length up to `limit` for which all is equal. Compares long stretches first: the runtime does that fast. */
function commonLength(limit: number, isEqual: (start: number, end: number) => boolean): number {
  let length = 0;
  for (let step = COMPARED; step >= 1; step >>= 4)
    while (length < limit && isEqual(length, Math.min(length + step, limit)))
      length = Math.min(length + step, limit);
  return length;
}

function matches(target: string, indexes: readonly SourceIndex[]): Fragment[] {
  const fragments: Fragment[] = [];
  let done = 0;
  for (const at of target.length < SHORTEST ? [] : anchors(target)) {
    if (at < done) continue;
    const found = firstOf(indexes, target.slice(at, at + PROBE));
    if (!found) continue;
    const [source, place] = found;
    let before = 0;
    while (
      at - before > done &&
      place > before &&
      target[at - before - 1] === source.text[place - before - 1]
    )
      before += 1;
    let after = PROBE;
    while (at + after < target.length && target[at + after] === source.text[place + after]) after += 1;
    if (isWithinPair(target, at - before)) before -= 1;
    if (isWithinPair(target, at + after)) after -= 1;
    if (before + after < SHORTEST) continue;
    if (at - before > done) fragments.push(target.slice(done, at - before));
    fragments.push({ source, start: place - before, end: place + after });
    done = at + after;
  }
  if (done < target.length) fragments.push(target.slice(done));
  return fragments;
}

function firstOf(
  indexes: readonly SourceIndex[],
  probe: string,
): readonly [source: Source, at: number] | undefined {
  for (const index of indexes) {
    const found = index.find(probe);
    if (found) return found;
  }
  return undefined;
}

/** The places at which a match is looked for. */
function* anchors(text: string): Generator<number> {
  for (let at = 0; at + PROBE <= text.length; at++) {
    const code = text.charCodeAt(at);
    // A quote or an opening brace.
    if (code === 0x22 || code === 0x7b) yield at;
  }
}

/** Joins neighbours that are adjacent in their source. */
function joined(fragments: readonly Fragment[]): Fragment[] {
  const found: Fragment[] = [];
  for (const fragment of fragments) {
    const last = found.at(-1);
    const isNext =
      typeof fragment === "object" &&
      typeof last === "object" &&
      fragment.source === last.source &&
      fragment.start === last.end;
    if (isNext) found.splice(-1, 1, { ...last, end: fragment.end });
    else found.push(fragment);
  }
  return found;
}

/** Whether `at` is between the two halves of a surrogate pair. */
export function isWithinPair(text: string, at: number): boolean {
  return at > 0 && at < text.length && (text.codePointAt(at - 1) ?? 0) > 0xff_ff;
}
