import { isDeepStrictEqual } from "node:util";

type Compare = (found: unknown, wanted: unknown) => boolean;

/** LangGraph's operators. The ordering ones compare numbers, like LangGraph's own store. */
const operators: Readonly<Record<string, Compare>> = {
  $eq: isDeepStrictEqual,
  $ne: (found, wanted) => !isDeepStrictEqual(found, wanted),
  $gt: (found, wanted) => Number(found) > Number(wanted),
  $gte: (found, wanted) => Number(found) >= Number(wanted),
  $lt: (found, wanted) => Number(found) < Number(wanted),
  $lte: (found, wanted) => Number(found) <= Number(wanted),
  $in: (found, wanted) => Array.isArray(wanted) && wanted.some((one) => isDeepStrictEqual(found, one)),
  $nin: (found, wanted) => !Array.isArray(wanted) || !wanted.some((one) => isDeepStrictEqual(found, one)),
};

/** Whether the fields of a value match a filter: they are equal, or its operators are true. */
export function matchesFilter(value: Record<string, unknown>, filter: Record<string, unknown>): boolean {
  return Object.entries(filter).every(([field, wanted]) => {
    const found = Object.hasOwn(value, field) ? value[field] : undefined;
    const comparisons = comparisonsOf(wanted);
    return comparisons
      ? comparisons.every(([compare, operand]) => compare(found, operand))
      : isDeepStrictEqual(found, wanted);
  });
}

function comparisonsOf(wanted: unknown): [Compare, unknown][] | undefined {
  if (typeof wanted !== "object" || wanted === null) return undefined;
  const comparisons: [Compare, unknown][] = [];
  for (const [name, operand] of Object.entries(wanted)) {
    const compare = Object.hasOwn(operators, name) ? operators[name] : undefined;
    if (!compare) return undefined;
    comparisons.push([compare, operand]);
  }
  return comparisons.length > 0 ? comparisons : undefined;
}
