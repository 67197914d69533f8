import { InvalidArgumentError } from "commander";

/** Reads a non-empty text. An empty one often results from an unset variable, and would select everything. */
export function parseText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

/** Reads a positive integer. */
export function parsePositive(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : 0;
  if (count === 0 || !Number.isSafeInteger(count))
    throw new InvalidArgumentError("It must be a positive integer.");
  return count;
}

/** Reads the maximum number of concurrent operations. */
export function parseConcurrency(text: string): number {
  const count = parsePositive(text);
  if (count > 256) throw new InvalidArgumentError("It must be at most 256.");
  return count;
}
