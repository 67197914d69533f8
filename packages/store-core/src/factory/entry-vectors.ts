import type { Check } from "../arguments.ts";

/** Whether a value is a vector with a direction. */
export const isVector: Check = (value) =>
  Array.isArray(value) && value.every(Number.isFinite) && hasLength(value)
    ? undefined
    : "must be an array of finite numbers that are not all 0";

/** Whether a value is a list of vectors of one dimension. */
export const isVectors: Check = (value) => {
  if (!Array.isArray(value)) return "must be an array of vectors";
  const problem = value.map(isVector).find((one) => one !== undefined);
  if (problem !== undefined) return `has a vector that ${problem}`;
  return new Set(value.map(({ length }) => length)).size > 1
    ? "must have vectors of one dimension"
    : undefined;
};

/** The vector of length 1 in the same direction, of numbers of 32 bits: then no backend meets a length that it rounds to 0 or infinity. */
export function unitVector(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => Math.fround(value / length));
}

function hasLength(vector: readonly number[]): boolean {
  const length = Math.hypot(...vector);
  return length > 0 && Number.isFinite(length);
}
