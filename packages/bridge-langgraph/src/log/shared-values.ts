import { fragmentsOf, isWithinPair, type Source, SourceIndex } from "./delta.ts";
import {
  type PartMessage,
  pieceLength,
  type Reference,
  type StoredValue,
  type ValueName,
} from "./log-message.ts";
import type { TypedValue } from "./typed-value.ts";

/** The size of a message, in characters of text or in bytes, that every backend accepts. */
const PART = { text: 1_024 ** 2, bytes: 2 * 1_024 ** 2 };
/** What is above one of these sizes is stored in parts: a literal, and the literals of a message together. */
const INLINE = { literal: 256 * 1_024, message: 512 * 1_024 };
/**
 * A value of at most this many characters for each message from the first one that a reader would need is stored whole. So what a
 * reader reads stays in proportion to what it asks for, and what is stored again is small beside the messages between.
 */
const WHOLE = 64;

/** A value of an earlier message. */
export interface EarlierValue {
  readonly position: number;
  readonly name: ValueName;
  readonly value: TypedValue;
  /** The position of the first message that a reader needs for it. */
  readonly from: number;
}

/** Encodes the values of one message: refers to what earlier messages have, and puts what is large into parts before the message. */
export class SharedValues {
  readonly #start: number;
  readonly #others: SourceIndex;
  readonly parts: PartMessage[] = [];
  #room = INLINE.message;

  /**
   * @param start the position of the first message that is added: the first part, or the message itself.
   * @param others stretches that the values may contain.
   */
  constructor(start: number, others: readonly Source[]) {
    this.#start = start;
    this.#others = new SourceIndex(others);
  }

  /**
   * Stores a value.
   *
   * @param before the value that it is probably equal to, or has grown from.
   */
  store({ type, data }: TypedValue, before: EarlierValue | undefined): StoredValue {
    if (typeof data !== "string") {
      const isSame = before && before.value.type === type && isEqual(data, before.value.data);
      const isShared = isSame && !this.#isWhole(data.length, before.from);
      return this.#stored(type, [isShared ? { source: before, start: 0, end: data.length } : data]);
    }
    const text = before?.value.data;
    const base = before && typeof text === "string" ? { ...before, start: 0, text } : undefined;
    const fragments = fragmentsOf(data, base, this.#others);
    const from = Math.min(
      ...fragments.map((one) => (typeof one === "string" ? this.#start : one.source.from)),
    );
    return this.#stored(type, this.#isWhole(data.length, from) ? [data] : fragments);
  }

  #isWhole(length: number, from: number): boolean {
    return length <= (this.#start - from) * WHOLE;
  }

  #stored(type: string, fragments: readonly (Stretch | string | Uint8Array)[]): StoredValue {
    const [only] = fragments;
    if (only === undefined) return { type, data: "" };
    const pieces: (string | Reference)[] = [];
    let from = this.#start + this.parts.length;
    for (const fragment of fragments) {
      if (typeof fragment === "object" && "source" in fragment) {
        const { source, start, end } = fragment;
        const { position, name, start: offset = 0 } = source;
        pieces.push([position, name, offset + start, offset + end]);
        from = Math.min(from, source.from);
      } else if (fragment.length <= Math.min(INLINE.literal, this.#room)) {
        this.#room -= fragment.length;
        // A copy: the runtime would keep the whole text in memory as long as a slice of it.
        if (typeof fragment === "string" && fragments.length > 1) pieces.push(structuredClone(fragment));
        else return { type, data: fragment };
      } else pieces.push(...this.#inParts(fragment));
    }
    return { type, pieces, from };
  }

  #inParts(data: string | Uint8Array): Reference[] {
    const references: Reference[] = [];
    for (let start = 0; start < data.length; ) {
      let end = Math.min(start + (typeof data === "string" ? PART.text : PART.bytes), data.length);
      if (typeof data === "string" && isWithinPair(data, end)) end -= 1;
      references.push([this.#start + this.parts.length, 0, 0, end - start]);
      this.parts.push({ kind: "part", data: data.slice(start, end) });
      start = end;
    }
    return references;
  }
}

/** A stretch of a source, without its text. */
interface Stretch {
  readonly source: Omit<Source, "text" | "start"> & { readonly start?: number };
  readonly start: number;
  readonly end: number;
}

function isEqual(data: Uint8Array, other: string | Uint8Array): boolean {
  return typeof other !== "string" && Buffer.compare(data, other) === 0;
}

/** The literals of an earlier value, which later ones may contain. */
export function literalsOf(position: number, name: ValueName, stored: StoredValue): Source[] {
  const pieces = "data" in stored ? [stored.data] : stored.pieces;
  const found: Source[] = [];
  let start = 0;
  for (const piece of pieces) {
    if (typeof piece === "string") found.push({ position, name, start, text: piece, from: position });
    start += piece instanceof Uint8Array || typeof piece === "string" ? piece.length : pieceLength(piece);
  }
  return found;
}
