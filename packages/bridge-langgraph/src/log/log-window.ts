import { StoreError } from "@scrollback/store-core";
import { type LogMessage, lengthOf, pieceLength, storedValue, type ValueName } from "./log-message.ts";
import type { TypedValue } from "./typed-value.ts";

/**
 * A contiguous part of a log that ends with its newest message. A message keeps its position, its number from the log's beginning,
 * until the log is replaced. Never changes; only the values that were read from it are remembered.
 */
export class LogWindow {
  /** The position of the first message. */
  readonly low: number;
  readonly messages: readonly LogMessage[];
  /** Values that were already joined. */
  readonly #joined: Map<string, TypedValue>;

  constructor(low: number, messages: readonly LogMessage[], joined = new Map<string, TypedValue>()) {
    this.low = low;
    this.messages = messages;
    this.#joined = joined;
  }

  /** The position after the last message. */
  get high(): number {
    return this.low + this.messages.length;
  }

  /** The approximate memory of the remembered values, in characters. */
  get size(): number {
    let size = 0;
    for (const { data } of this.#joined.values()) size += data.length;
    return size;
  }

  at(position: number): LogMessage | undefined {
    return this.messages[position - this.low];
  }

  withOlder(messages: readonly LogMessage[]): LogWindow {
    return new LogWindow(this.low - messages.length, [...messages, ...this.messages], this.#joined);
  }

  withNewer(messages: readonly LogMessage[]): LogWindow {
    return new LogWindow(this.low, [...this.messages, ...messages], this.#joined);
  }

  /** The messages from a position on, with the remembered values of these. */
  from(low: number): LogWindow {
    const isKept = ([key]: [string, TypedValue]) => Number.parseInt(key, 10) >= low;
    return new LogWindow(low, this.messages.slice(low - this.low), new Map([...this.#joined].filter(isKept)));
  }

  /** Remembers a value of a message. */
  remember(position: number, name: ValueName, value: TypedValue): void {
    this.#joined.set(`${position} ${name}`, value);
  }

  /** The position from which a reader needs the messages for a value. */
  beginOf(position: number, name: ValueName): number {
    if (this.#joined.has(`${position} ${name}`)) return position;
    const message = this.at(position);
    const value = message && storedValue(message, name);
    return value && "from" in value ? value.from : position;
  }

  /** Joins a value of a message. @throws StoreError `CORRUPT` if a message that it refers to is missing: it never reads as absent. */
  value(position: number, name: ValueName): TypedValue {
    const remembered = this.#joined.get(`${position} ${name}`);
    if (remembered) return remembered;
    const stored = this.#stored(position, name);
    if ("data" in stored) return stored;
    const data: (string | Uint8Array)[] = [];
    // The stretches that are still to be written to `data`; the next one is the last.
    const stack = [{ position, name, start: 0, end: lengthOf(stored) }];
    for (let next = stack.pop(); next; next = stack.pop()) {
      const { position: at, name: of, start, end } = next;
      const value = this.#joined.get(`${at} ${of}`) ?? this.#stored(at, of);
      if ("data" in value) {
        if (end > value.data.length) throw missing();
        data.push(value.data.slice(start, end));
        continue;
      }
      const found: typeof stack = [];
      let offset = 0;
      for (const piece of value.pieces) {
        const from = Math.max(start - offset, 0);
        const to = Math.min(end - offset, pieceLength(piece));
        offset += pieceLength(piece);
        if (from >= to) continue;
        if (typeof piece !== "string") {
          const [earlier, inner, first] = piece;
          found.push({ position: earlier, name: inner, start: first + from, end: first + to });
        } else if (found.length === 0) data.push(piece.slice(from, to));
        else
          found.push({
            position: at,
            name: of,
            start: offset - piece.length + from,
            end: offset - piece.length + to,
          });
      }
      // A literal after a reference waits for it, as a stretch of its own that comes here again.
      stack.push(...found.reverse());
    }
    return { type: stored.type, data: concatenated(data) };
  }

  #stored(position: number, name: ValueName) {
    const message = this.at(position);
    const stored = message && storedValue(message, name);
    if (!stored) throw missing();
    return stored;
  }
}

function concatenated(data: readonly (string | Uint8Array)[]): string | Uint8Array {
  if (data.every((piece) => typeof piece === "string")) return data.join("");
  if (!data.every((piece) => piece instanceof Uint8Array)) throw missing();
  const { buffer, byteOffset, length } = Buffer.concat(data);
  return new Uint8Array(buffer, byteOffset, length);
}

function missing(): StoreError {
  return new StoreError("CORRUPT", "getTuple: a value of a checkpoint refers to a message that is missing");
}
