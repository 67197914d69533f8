import { jsonCodec, StoreError } from "@scrollback/store-core";

/** Values by key. All keys are allowed, also `__proto__`. */
export type Values = Record<string, unknown>;

/** A delta or a whole state, by scope. Keys of the app and of the user have no prefix here. */
export interface Scopes {
  readonly app: Values;
  readonly user: Values;
  readonly session: Values;
  /** These keys have their prefix. */
  readonly temp: Values;
}

const prefixes = { app: "app:", user: "user:", temp: "temp:" } as const;

/** Splits a state or a delta by the prefixes of its keys. */
export function splitScopes(values: Values): Scopes {
  const scopes = { app: {}, user: {}, session: {}, temp: {} };
  for (const [key, value] of Object.entries(values)) {
    if (key.startsWith(prefixes.app)) setValue(scopes.app, key.slice(prefixes.app.length), value);
    else if (key.startsWith(prefixes.user)) setValue(scopes.user, key.slice(prefixes.user.length), value);
    else if (key.startsWith(prefixes.temp)) setValue(scopes.temp, key, value);
    else setValue(scopes.session, key, value);
  }
  return scopes;
}

/** Returns the state of a session for the caller: new copies, with prefixes. */
export function mergeScopes(app: Values, user: Values, session: Values): Values {
  return copyOf("state", { ...session, ...prefixed("app", app), ...prefixed("user", user) });
}

/** Returns the keys of a state that are never stored. */
export function temporaryOf(state: Values): Values {
  return splitScopes(state).temp;
}

/** Names the key with the largest value, for an error: `; the largest key is "report" with 300000 bytes`. */
export function largestKey(values: Values, sizeOf: (value: unknown) => number): string {
  const sizes = Object.entries(values).map(([key, value]) => ({ key, bytes: sizeOf(value) }));
  const [largest] = sizes.sort((a, b) => b.bytes - a.bytes);
  return largest ? `; the largest key is ${JSON.stringify(largest.key)} with ${largest.bytes} bytes` : "";
}

export function prefixed(scope: "app" | "user", values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [prefixes[scope] + key, value]));
}

export function isEmpty(values: Values): boolean {
  return Object.keys(values).length === 0;
}

/** Sets an own property of any name. */
export function setValue(values: Values, key: string, value: unknown): void {
  Object.defineProperty(values, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns an own property, never an inherited one. */
export function ownValue<T>(values: Record<string, T>, key: string): T | undefined {
  return Object.hasOwn(values, key) ? values[key] : undefined;
}

/**
 * Returns a copy that shares nothing with `value`.
 *
 * @throws StoreError `INVALID_ARGUMENT` that names the path of a value that cannot be stored (a function, a class instance).
 */
export function copyOf<T>(name: string, value: T): T {
  try {
    return jsonCodec.decode(jsonCodec.encode(value)) as T;
  } catch (cause) {
    if (!StoreError.is(cause)) throw cause;
    throw new StoreError("INVALID_ARGUMENT", `${name}: ${cause.message}`, { cause });
  }
}
