import { InvalidArgumentError } from "commander";

const MILLISECONDS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** The maximum that stores accept, in days. */
const MAX_DAYS = 36_500;

/** Reads a duration such as `30d`, in milliseconds. A unit is required. */
export function parseDuration(text: string): number {
  const [, digits, unit = ""] = /^(\d+)([smhdw])$/.exec(text) ?? [];
  const ms = Number(digits) * (MILLISECONDS[unit] ?? Number.NaN);
  if (!(ms > 0 && ms <= MAX_DAYS * 86_400_000))
    throw new InvalidArgumentError(
      `It must be a duration such as 90s, 30m, 12h, 30d or 4w, of at most ${MAX_DAYS}d.`,
    );
  return ms;
}

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

/** Reads the number of a port; 0 stands for any free one. */
export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 65_536;
  if (port > 65_535) throw new InvalidArgumentError("It must be an integer from 0 to 65535.");
  return port;
}
