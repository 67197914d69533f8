import { type LogMessage, type StoredValue, storedValue, type ValueName } from "./log-message.ts";
import type { TypedValue } from "./typed-value.ts";
import { missing, ValueJoin } from "./value-join.ts";

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
  readonly #join = new ValueJoin((at, of) => this.#joined.get(`${at} ${of}`) ?? this.#stored(at, of));

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
    return { type: stored.type, data: this.#join.join(position, name) };
  }

  #stored(position: number, name: ValueName): StoredValue {
    const message = this.at(position);
    const stored = message && storedValue(message, name);
    if (!stored) throw missing();
    return stored;
  }
}
