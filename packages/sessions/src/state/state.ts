import { ownValue, setValue, type Values } from "./scopes.ts";

/**
 * A view of a state with a delta that is not appended yet. Reads use the delta first, then the state. Writes go to both, so
 * that the delta can become an event's `stateDelta`.
 *
 * @example
 * const stateDelta = {};
 * const state = new State(session.state, stateDelta);
 * state.set("user:language", "nl");
 * await sessions.appendEvent({ session, event: { ...event, actions: { stateDelta } } });
 */
export class State {
  static readonly APP_PREFIX = "app:";
  static readonly USER_PREFIX = "user:";
  static readonly TEMP_PREFIX = "temp:";
  readonly #value: Values;
  readonly #delta: Values;

  /** Writes go to both. Default: empty objects. */
  constructor(value: Values = {}, delta: Values = {}) {
    this.#value = value;
    this.#delta = delta;
  }

  /** Returns the value of a key, also null; `defaultValue` for a missing key. */
  get<T>(key: string, defaultValue?: T): T | undefined {
    if (!this.has(key)) return defaultValue;
    return ownValue(Object.hasOwn(this.#delta, key) ? this.#delta : this.#value, key) as T;
  }

  set(key: string, value: unknown): void {
    setValue(this.#value, key, value);
    setValue(this.#delta, key, value);
  }

  /** Whether the key exists, with any value. */
  has(key: string): boolean {
    return Object.hasOwn(this.#delta, key) || Object.hasOwn(this.#value, key);
  }

  /** Whether the delta contains values. */
  hasDelta(): boolean {
    return Object.keys(this.#delta).length > 0;
  }

  /** Sets every key of `delta`. */
  update(delta: Values): void {
    for (const [key, value] of Object.entries(delta)) this.set(key, value);
  }

  /** Returns all keys and values as a new object. */
  toRecord(): Values {
    return { ...this.#value, ...this.#delta };
  }
}
