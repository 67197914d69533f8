import { InvalidArgumentError } from "commander";

const MILLISECONDS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
const BYTES: Readonly<Record<string, number>> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };

/** Reads a duration such as `30d`, in milliseconds. A unit is required. */
export function parseDuration(text: string): number {
  return parseQuantity(text, MILLISECONDS, "a duration such as 90s, 30m, 12h, 30d or 4w");
}

/** Reads a size such as `10MB`, in bytes. A unit is required. */
export function parseSize(text: string): number {
  return parseQuantity(text, BYTES, "a size such as 500B, 20kB, 10MB or 1GB");
}

/** Reads a non-empty text. An empty one often results from an unset variable, and would select everything. */
export function parseText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

/** Reads an integer of 0 or more. */
export function parseCount(text: string): number {
  const count = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(count)) throw new InvalidArgumentError("It must be an integer of 0 or more.");
  return count;
}

/** Reads a positive integer. */
export function parsePositive(text: string): number {
  const count = parseCount(text);
  if (count === 0) throw new InvalidArgumentError("It must be a positive integer.");
  return count;
}

/** Reads the maximum number of concurrent operations. */
export function parseConcurrency(text: string): number {
  const count = parsePositive(text);
  if (count > 256) throw new InvalidArgumentError("It must be at most 256.");
  return count;
}

function parseQuantity(text: string, units: Readonly<Record<string, number>>, form: string): number {
  const [, digits = "", unit = ""] = /^(\d+)([A-Za-z]+)$/.exec(text) ?? [];
  const quantity = Object.hasOwn(units, unit) ? Number(digits) * (units[unit] ?? Number.NaN) : Number.NaN;
  if (!Number.isSafeInteger(quantity)) throw new InvalidArgumentError(`It must be ${form}.`);
  return quantity;
}
