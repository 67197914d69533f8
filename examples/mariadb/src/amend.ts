import type { Amendment } from "@scrollback/record-log";
import { toBigint, toBytes, type Value } from "./row.ts";
import { type Statement, statement } from "./statements.ts";

/**
 * The UPDATE that makes all amendments of a call: an assignment for each part of an amendment. They run from left to right, so the
 * ranges may overlap. The ranges of keys in the WHERE make the server lock the rows in ascending order. Undefined: nothing to do.
 */
export function amendStatement(
  table: string,
  stream: string,
  amendments: readonly Amendment[],
): Statement | undefined {
  const assignments = amendments.flatMap((amendment) => [...assignmentsOf(amendment)]);
  if (assignments.length === 0) return undefined;
  const ranges = amendments.map(() => "number >= ? AND number < ?").join(" OR ");
  return statement(
    `UPDATE ${table} SET ${assignments.map(({ sql }) => sql).join(", ")} WHERE stream = ? AND (${ranges})`,
    [...assignments.flatMap(({ values }) => values), toBytes(stream), ...amendments.flatMap(rangeOf)],
  );
}

const rangeOf = ({ from, to }: Amendment): Value[] => [toBigint(from), toBigint(to)];

interface Assignment {
  readonly sql: string;
  readonly values: readonly Value[];
}

function* assignmentsOf(amendment: Amendment): Generator<Assignment> {
  const { blank, expiresAt, extend } = amendment;
  const range = rangeOf(amendment);
  const change = (column: string, value: string, condition = "", values: Value[] = []): Assignment => ({
    sql: `${column} = CASE WHEN number >= ? AND number < ?${condition} THEN ${value} ELSE ${column} END`,
    values: [...range, ...values],
  });
  if (blank === "all") yield change("content", "NULL");
  else if (blank) yield change("content", blanked(blank.from, blank.to));
  if (expiresAt !== undefined) yield change("expires_at", `${toBigint(expiresAt)}`);
  if (!extend) return;
  // Comparisons with NULL are never true, so rows that never expire are not extended.
  const atLeast = [toBigint(extend.atLeast)];
  if (extend.to === null) yield change("expires_at", "NULL", " AND expires_at >= ?", atLeast);
  else {
    const to = toBigint(extend.to);
    yield change("expires_at", `${to}`, " AND expires_at >= ? AND expires_at < ?", [...atLeast, to]);
  }
}

/** The content with the texts `from` to `to - 1` blank, and their separators. There may be fewer texts. */
function blanked(from: number, to: number): string {
  const until = (text: number) => `SUBSTRING_INDEX(content, X'FF', ${toBigint(text)})`;
  const gone = `SUBSTRING(${until(to)}, LENGTH(${until(from)}) + 1)`;
  const separators = `REPEAT(X'FF', LENGTH(${gone}) - LENGTH(REPLACE(${gone}, X'FF', X'')))`;
  return `CONCAT(${until(from)}, ${separators}, SUBSTRING(content, LENGTH(${until(to)}) + 1))`;
}
