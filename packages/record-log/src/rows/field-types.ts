import { FIRST_ROW } from "../record-log.ts";

/** Rows `from` to `to - 1`. Every range of the record log includes `from` and excludes `to`. */
export type RowRange = readonly [from: number, to: number];
/** The texts `from` to `to - 1` of a row. */
export type TextRange = readonly [row: number, from: number, to: number];
/** The position of a text: at `index` of the `count` texts of a row. */
export type Spot = readonly [row: number, index: number, count: number];
/** A row that contains one piece of each of the texts `from` to `to - 1` of a commit. */
export type Fragment = readonly [row: number, from: number, to: number];
/** Fragments that were inserted for an unfinished commit: its token, `n` when it began, the rows. */
export type Upload = readonly [token: string, n: number, rows: readonly RowRange[]];

/** A commit has at most this many messages; see `maxCommitMessages` of the capabilities. */
export const MAX_TEXTS = 10_000;
const MAX_LIST = 4_096;
/** The last time that a `Date` can hold, in milliseconds since 1970. */
export const LAST_MOMENT = 8.64e15;

export class Malformed extends Error {}

/**
 * One type of field: its JSON, and the check when it is read. Row numbers are written as their distance below `origin`, which
 * is the row's own number (for a root: the number of its first row), because most of them are near it.
 */
export interface FieldType<T> {
  readonly name: string;
  encode(value: T, origin: number): unknown;
  /** @throws Malformed */
  decode(json: unknown, origin: number): T;
}

function checked<T>(name: string, isValid: (json: unknown) => boolean): FieldType<T> {
  return {
    name,
    encode: (value) => value,
    decode(json) {
      if (!isValid(json)) throw new Malformed(`must be ${name}`);
      return json as T;
    },
  };
}

export const text = (max: number) =>
  checked<string>(
    `a string of 1 to ${max} characters`,
    (json) => typeof json === "string" && json.length > 0 && json.length <= max,
  );
export const count = checked<number>(
  "a non-negative integer",
  (json) => Number.isSafeInteger(json) && (json as number) >= 0,
);
export const time = checked<number>(
  "a time in milliseconds since 1970",
  (json) => Number.isFinite(json) && Math.abs(json as number) <= LAST_MOMENT,
);
export const kinds = checked<string>(
  `at most ${MAX_TEXTS} letters of kinds`,
  (json) => typeof json === "string" && json.length <= MAX_TEXTS && /^[sutcbko]*$/.test(json),
);
export const yes = checked<1>("1", (json) => json === 1);

export const row: FieldType<number> = {
  name: "the distance to a row below",
  encode: (value, origin) => origin - value,
  decode(json, origin) {
    const value = origin - count.decode(json, origin);
    if (value < FIRST_ROW) throw new Malformed("must be the distance to a row below");
    return value;
  },
};
export const rowBelow: FieldType<number> = {
  ...row,
  decode(json, origin) {
    const value = row.decode(json, origin);
    if (value === origin) throw new Malformed(`must be ${row.name}`);
    return value;
  },
};
export const range: FieldType<RowRange> = {
  name: "rows as [distance, length]",
  encode: ([from, to], origin) => [origin - from, to - from],
  decode(json, origin) {
    const [from, length] = pair.decode(json, origin);
    if (length === 0 || length > origin - from + 1) throw new Malformed("must be rows up to this one");
    return [from, from + length];
  },
};
/** A commit that shares its row with later ones. */
export type EarlierCommit = readonly [operationId: string, digest: string];
export const earlierCommits = list<EarlierCommit>(
  tuple("[operation id, digest]", text(1_024), text(64)),
  1_023,
);
const pair = tuple<[number, number]>("[distance, length]", row, count);

function tuple<T extends readonly unknown[]>(
  name: string,
  ...types: { [K in keyof T]: FieldType<T[K]> }
): FieldType<T> {
  return {
    name,
    encode: (values, origin) => types.map((type, index) => type.encode(values[index], origin)),
    decode(json, origin) {
      if (!Array.isArray(json) || json.length !== types.length) throw new Malformed(`must be ${name}`);
      return types.map((type, index) => type.decode(json[index], origin)) as unknown as T;
    },
  };
}

export function list<T>(type: FieldType<T>, max = MAX_LIST): FieldType<readonly T[]> {
  const name = `at most ${max} of ${type.name}`;
  return {
    name,
    encode: (values, origin) => values.map((value) => type.encode(value, origin)),
    decode(json, origin) {
      if (!Array.isArray(json) || json.length > max) throw new Malformed(`must be ${name}`);
      return json.map((one) => type.decode(one, origin));
    },
  };
}

export const spots = list<Spot>(tuple("[distance, index, count]", row, count, count), 1_024);
export const textRanges = list<TextRange>(tuple("[distance, from, to]", row, count, count));
export const fragments = list<Fragment>(tuple("[distance, from, to]", row, count, count));
export const uploads = list<Upload>(tuple("[token, n, rows]", text(64), count, list(range)), 64);
export const bounds = tuple<readonly [first: number, next: number]>("[first, next]", count, count);
export const searched = tuple<readonly [userless: number, startless: number, newestCompaction: number]>(
  "[userless, startless, newestCompaction]",
  count,
  count,
  count,
);
export const pinned = tuple<readonly [sequence: number, spots: readonly Spot[]]>(
  "[sequence, spots]",
  count,
  spots,
);
