import { isClassPrototype, isNativeError } from "./codec/built-in.ts";

/** The stored fields of an error. No others, because errors of HTTP clients carry credentials. */
export interface ErrorFields {
  readonly name: string;
  readonly message: string;
  /** Absent if the error has no cause; a cause may also be undefined. */
  readonly cause?: unknown;
  readonly code?: string | number;
  /** Of an AggregateError. */
  readonly errors?: readonly unknown[];
}

/** Whether a value is an error, of any realm. */
export const isError = (value: unknown): value is Error => isNativeError(value) || value instanceof Error;

export function fieldsOf(error: Error): ErrorFields {
  const { name, message } = error;
  const code = "code" in error ? error.code : undefined;
  return {
    name,
    message,
    ...("cause" in error && { cause: error.cause }),
    ...((typeof code === "string" || typeof code === "number") && { code }),
    ...(isAggregate(error) && Array.isArray(error.errors) && { errors: error.errors }),
  };
}

function isAggregate(error: Error): error is AggregateError {
  let prototype: object | null = Object.getPrototypeOf(error);
  while (prototype !== null && !isClassPrototype("AggregateError", prototype))
    prototype = Object.getPrototypeOf(prototype);
  return prototype !== null;
}

export function makeError({ name, message, code, errors, ...rest }: ErrorFields): Error {
  const error = errors ? new AggregateError(errors, message, rest) : new Error(message, rest);
  if (error.name !== name) {
    Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
  }
  if (code !== undefined) Object.assign(error, { code });
  // The reader's own stack would mislead.
  error.stack = `${name}: ${message}`;
  return error;
}
