import type { Discard, Parts, RowRange, TextPlace } from "./log-record.ts";

// What a row's head must be, so that one that is damaged is found out when it is read, and makes nobody count to what it
// claims.

/** The fields of a head, as the JSON has them. */
export interface HeadFields {
  readonly t: string;
  readonly b?: readonly [number, string];
  readonly e: string;
  readonly n: number;
  readonly o?: string;
  readonly d?: string;
  readonly s?: number;
  readonly k?: string;
  readonly p?: number;
  readonly q?: Parts;
  readonly x: readonly [first: number, next: number, pinned?: number];
  readonly r: number;
  readonly c?: number;
  readonly l?: readonly [number, number, number];
  readonly m?: readonly [number, number, number];
  readonly X?: number;
  readonly Y?: number;
  readonly Z?: 1;
  readonly L?: readonly [number, number, number];
  readonly D?: readonly Discard[];
  readonly S?: readonly RowRange[];
  readonly G?: readonly (readonly [string, number])[];
  readonly P?: 1;
}

type Test = (value: unknown) => boolean;

const isText: Test = (value) => typeof value === "string";
const isCount: Test = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const isTime: Test = (value) => Number.isFinite(value);
const isOne: Test = (value) => value === 1;
const isKinds: Test = (value) => typeof value === "string" && /^[suot]*$/.test(value);
const tuple =
  (...tests: readonly Test[]): Test =>
  (value) =>
    Array.isArray(value) &&
    value.length === tests.length &&
    tests.every((test, index) => test(value[index] as unknown));
const list =
  (test: Test): Test =>
  (value) =>
    Array.isArray(value) && value.every(test);
const either =
  (...tests: readonly Test[]): Test =>
  (value) =>
    tests.some((test) => test(value));
const isParts: Test = (value) => {
  const { token, rows, pieces } = (value ?? {}) as Record<string, unknown>;
  return isText(token) && list(isCount)(rows) && isCounts(pieces);
};
const isCounts: Test = (value) =>
  typeof value === "object" && value !== null && Object.values(value).every(isCount);

const required: readonly (readonly [string, Test])[] = Object.entries({
  t: isText,
  e: isText,
  n: isCount,
  x: either(tuple(isCount, isCount), tuple(isCount, isCount, isCount)),
  r: isCount,
});
const requiredOfCommit = [...required, ...Object.entries({ d: isText, s: isCount })];
const optional: readonly (readonly [string, Test])[] = Object.entries({
  b: tuple(isCount, isText),
  o: isText,
  k: isKinds,
  p: isCount,
  q: isParts,
  c: isCount,
  l: tuple(isCount, isCount, isCount),
  m: tuple(isCount, isCount, isCount),
  X: isTime,
  Y: isTime,
  Z: isOne,
  L: tuple(isTime, isCount, isTime),
  D: list(either(isText, tuple(isCount, isCount), tuple(isCount, isCount, isCount))),
  S: list(tuple(isCount, isCount)),
  G: list(tuple(isText, isCount)),
  P: isOne,
});

/** What is wrong with the fields of the head of row `number`; undefined where nothing is. */
export function problemOf(number: number, fields: Readonly<Record<string, unknown>>): string | undefined {
  const missing = (fields.o === undefined ? required : requiredOfCommit).some(
    ([name, test]) => !test(fields[name]),
  );
  if (missing) return "lacks fields";
  const wrong = optional.some(([name, test]) => fields[name] !== undefined && !test(fields[name]));
  if (wrong) return "has fields of another kind";
  return isPossible(number, fields as unknown as HeadFields) ? undefined : "tells of what cannot be";
}

/** A row tells of rows up to itself only, of messages in their order, and of no more pieces than its texts can have. */
function isPossible(number: number, fields: HeadFields): boolean {
  const { b = [0], c = 0, p = 0, r, x, l, m, q, k = "", D = [], S = [] } = fields;
  const [first, next, pinned = 0] = x;
  const places = [l, m].flatMap((place) => (place ? [placeOf(place)] : []));
  const rows = [
    ...[c, p, r, ...places.map(({ row }) => row)],
    ...D.flatMap((discard) => (typeof discard === "string" ? [] : [discard[0]])),
    ...[...D.filter((discard) => typeof discard !== "string" && discard.length === 2), ...S].map((range) =>
      Number(range[1]),
    ),
  ];
  return (
    b[0] < number &&
    rows.every((row) => row <= number) &&
    first >= 1 &&
    first <= next &&
    pinned < first &&
    places.every(({ index, count }) => index < count) &&
    (!q || hasItsPieces(q, k.length + (m?.[0] === number ? 1 : 0)))
  );
}

function placeOf([row, index, count]: readonly [number, number, number]): TextPlace {
  return { row, index, count };
}

/** Each text is one piece or a few, and each piece more fills a row. */
function hasItsPieces({ rows, pieces }: Parts, texts: number): boolean {
  const indexes = Object.keys(pieces).map(Number);
  const laid = rows.reduce((sum, count) => sum + count, 0);
  const cut = Object.values(pieces).reduce((sum, count) => sum + count, texts - indexes.length);
  return indexes.every((index) => index < texts) && laid === cut && laid <= texts + rows.length;
}
