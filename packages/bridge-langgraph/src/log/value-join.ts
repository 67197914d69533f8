import { StoreError } from "@scrollback/store-core";
import {
  pieceLength,
  type Reference,
  type SharedValue,
  type StoredValue,
  type ValueName,
} from "./log-message.ts";
import { concat, piecesOf, type Rope, ropeOf, stretch } from "./rope.ts";

/** A value that is not whole, of the message at `position`. */
interface Node {
  readonly key: string;
  readonly position: number;
  readonly value: SharedValue;
}

/**
 * Joins values from those that they refer to. The first one takes time for its length and for each piece since it was stored whole,
 * not for their product; the others of its chain, whether older or newer, take time for their length.
 */
export class ValueJoin {
  readonly #read: (position: number, name: ValueName) => StoredValue;
  readonly #ropes = new Map<string, Rope | undefined>();
  /** Where the pieces of a value begin. */
  readonly #starts = new Map<SharedValue, readonly number[]>();

  /** @param read returns a value of a message, whole if it is known. */
  constructor(read: (position: number, name: ValueName) => StoredValue) {
    this.#read = read;
  }

  /** @throws the error of `read`. StoreError `CORRUPT` if a reference leads past the end of its value. */
  join(position: number, name: ValueName): string | Uint8Array {
    for (const { key, value } of this.#needed(position, name)) {
      let rope: Rope | undefined;
      for (const piece of value.pieces) rope = concat(rope, this.#ropeOf(piece));
      this.#ropes.set(key, rope);
    }
    return concatenated([...piecesOf(this.#ropes.get(keyOf(position, name)))]);
  }

  /** The value and those that it refers to, also indirectly: each after its references. */
  #needed(position: number, name: ValueName): Node[] {
    const found = new Map<string, Node>();
    const rest: (readonly [position: number, name: ValueName])[] = [[position, name]];
    for (let next = rest.pop(); next; next = rest.pop()) {
      const [at, of] = next;
      const key = keyOf(at, of);
      const value = this.#ropes.has(key) || found.has(key) ? undefined : this.#read(at, of);
      if (!value || "data" in value) continue;
      found.set(key, { key, position: at, value });
      for (const piece of value.pieces)
        if (typeof piece !== "string" && !this.#literal(piece)) rest.push([piece[0], piece[1]]);
    }
    // References lead to earlier messages.
    return [...found.values()].sort((a, b) => a.position - b.position);
  }

  #ropeOf(piece: string | Reference): Rope | undefined {
    if (typeof piece === "string") return ropeOf(piece);
    const [position, name, start, end] = piece;
    const literal = this.#literal(piece);
    if (literal) return literal;
    const rope = this.#ropes.get(keyOf(position, name));
    if (!rope || end > rope.length) throw missing();
    return stretch(rope, start, end);
  }

  /**
   * The stretch of a reference into one literal. The messages that the rest of its value needs may be before those that were read.
   */
  #literal([position, name, start, end]: Reference): Rope | undefined {
    const value = this.#read(position, name);
    if ("data" in value) {
      if (end > value.data.length) throw missing();
      return stretch(ropeOf(value.data), start, end);
    }
    const index = this.#pieceAt(value, start);
    const piece = value.pieces[index];
    const offset = this.#startsOf(value)[index] ?? 0;
    if (typeof piece !== "string" || end > offset + piece.length) return undefined;
    return stretch(ropeOf(piece), start - offset, end - offset);
  }

  /** The index of the piece that has the character at an offset. */
  #pieceAt(value: SharedValue, offset: number): number {
    const starts = this.#startsOf(value);
    let low = 0;
    let high = starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #startsOf(value: SharedValue): readonly number[] {
    const known = this.#starts.get(value);
    if (known) return known;
    const starts: number[] = [];
    let offset = 0;
    for (const piece of value.pieces) {
      starts.push(offset);
      offset += pieceLength(piece);
    }
    this.#starts.set(value, starts);
    return starts;
  }
}

function keyOf(position: number, name: ValueName): string {
  return `${position} ${name}`;
}

function concatenated(data: readonly (string | Uint8Array)[]): string | Uint8Array {
  if (data.every((piece) => typeof piece === "string")) return data.join("");
  if (!data.every((piece) => piece instanceof Uint8Array)) throw missing();
  const { buffer, byteOffset, length } = Buffer.concat(data);
  return new Uint8Array(buffer, byteOffset, length);
}

export function missing(): StoreError {
  return new StoreError("CORRUPT", "getTuple: a value of a checkpoint refers to a message that is missing");
}
