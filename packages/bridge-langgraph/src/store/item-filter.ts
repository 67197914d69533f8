import { isDeepStrictEqual } from "node:util";

type Compare = (found: unknown, wanted: unknown) => boolean;

/**
 * Equal as LangGraph's own store compares, by `===`. Objects are also equal by their content, because an item that was read is a copy
 * of the one that was put.
 */
const isEqual: Compare = (found, wanted) =>
  found === wanted || (isObject(found) && isObject(wanted) && isDeepStrictEqual(found, wanted));

const isAmong = (found: unknown, wanted: readonly unknown[]) =>
  wanted.includes(found) || wanted.some((one) => isEqual(found, one));

/** LangGraph's operators. The ordering ones compare numbers, like LangGraph's own store. */
const operators: Readonly<Record<string, Compare>> = {
  $eq: isEqual,
  $ne: (found, wanted) => !isEqual(found, wanted),
  $gt: (found, wanted) => Number(found) > Number(wanted),
  $gte: (found, wanted) => Number(found) >= Number(wanted),
  $lt: (found, wanted) => Number(found) < Number(wanted),
  $lte: (found, wanted) => Number(found) <= Number(wanted),
  $in: (found, wanted) => Array.isArray(wanted) && isAmong(found, wanted),
  $nin: (found, wanted) => !Array.isArray(wanted) || !isAmong(found, wanted),
};

/** Whether the fields of a value match a filter: they are equal, or its operators are true. */
export function matchesFilter(value: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([field, wanted]) => {
    const found = Object.hasOwn(value, field) ? value[field] : undefined;
    const comparisons = comparisonsOf(wanted);
    return comparisons
      ? comparisons.every(([compare, operand]) => compare(found, operand))
      : isEqual(found, wanted);
  });
}

/** The operators of a filter's field, none for an object without properties; undefined for a value that is compared. */
function comparisonsOf(wanted: unknown): [Compare, unknown][] | undefined {
  if (!isObject(wanted)) return undefined;
  const comparisons: [Compare, unknown][] = [];
  for (const [name, operand] of Object.entries(wanted)) {
    const compare = Object.hasOwn(operators, name) ? operators[name] : undefined;
    if (!compare) return undefined;
    comparisons.push([compare, operand]);
  }
  return comparisons;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
