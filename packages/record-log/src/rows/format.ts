import { StoreError } from "@scrollback/store-core";
import type { SequenceBounds } from "@scrollback/store-core/driver";
import { FIRST_ROW } from "../record-log.ts";
import {
  bounds,
  count,
  earlierCommits,
  type FieldType,
  fragments,
  kinds,
  list,
  MAX_TEXTS,
  Malformed,
  pinned,
  range,
  row,
  rowBelow,
  type Spot,
  searched,
  spots,
  text,
  textRanges,
  time,
  uploads,
  yes,
} from "./field-types.ts";
import { joined } from "./ranges.ts";

const FORMAT_VERSION = 1;

interface Field<T, Required extends boolean> {
  readonly key: string;
  readonly type: FieldType<T>;
  readonly isRequired: Required;
  readonly doc: string;
}
const required = <T>(key: string, type: FieldType<T>, doc: string): Field<T, true> => ({
  key,
  type,
  isRequired: true,
  doc,
});
const optional = <T>(key: string, type: FieldType<T>, doc: string): Field<T, false> => ({
  key,
  type,
  isRequired: false,
  doc,
});

/** The fields of a head. The encoder, the decoder, the checks and the format's documentation use this table. */
export const headFields = {
  token: required("t", text(64), "A random token of this row."),
  predecessor: optional(
    "p",
    text(64),
    "The token of the row on which this one was inserted. Absent in a root.",
  ),
  root: required("r", count, "The number of the incarnation's root."),
  incarnation: required(
    "i",
    text(64),
    "A random token of the thread's incarnation, the prefix of its revisions.",
  ),
  n: required("n", count, "The number of commits of the incarnation."),
  at: required("a", time, "Log time: the writer's clock or the predecessor's log time, whichever is later."),
  base: optional("b", count, "In a root: the number of the incarnation's first row."),
  createdAt: required("h", time, "The time of the incarnation's first commit, given by its writer."),
  operationId: optional("o", text(1_024), "In a commit: its operation id."),
  digest: optional("d", text(64), "In a commit: the digest of its change."),
  earlier: optional(
    "O",
    earlierCommits,
    "In a commit that shares its row: the commits before it in the row, oldest first.",
  ),
  updatedAt: optional(
    "c",
    time,
    "The time of the newest commit, given by its writer. Absent before the first.",
  ),
  start: optional("s", count, "In a commit: the sequence number of its first message."),
  kinds: optional("k", kinds, "In a commit: the kinds of its messages, one letter each."),
  setsMetadata: optional("y", yes, "In a commit: its last text is the thread's metadata."),
  back: optional(
    "l",
    rowBelow,
    "In a commit: the nearest lower row that had messages of the thread at that time.",
  ),
  fragments: optional("f", fragments, "In a commit: the rows that hold its texts in pieces."),
  bounds: required("x", bounds, "The thread's sequence numbers, without the pinned messages."),
  pinned: optional("g", pinned, "The pinned system message."),
  compaction: optional("G", pinned, "The pinned compaction item."),
  metadata: optional("m", spots, "The positions of the metadata."),
  newest: optional(
    "u",
    row,
    "The row of the newest message. Absent: no message, except possibly pinned ones.",
  ),
  edge: required(
    "e",
    row,
    "The row of the oldest message, or of the last commit after which there was none.",
  ),
  bottom: required("w", row, "No row below is needed, except those of the pinned messages and the metadata."),
  cut: optional("q", row, "The last row that dropped messages from the end."),
  searched: optional(
    "j",
    searched,
    "The kept messages before `userless` are not user messages, those before `startless` cannot begin the kept tail; `newestCompaction` is the newest compaction item, or 0.",
  ),
  expiresAt: optional("X", time, "The thread expires at this time. Absent: never."),
  keptUntil: optional("K", time, "This row and later rows expire at this time. Absent: never."),
  promisedUntil: optional("P", time, "No needed row expires before this time. Absent: none ever expires."),
  blank: optional("D", textRanges, "Dead texts that may not be blank yet."),
  free: optional("F", list(range), "Dead rows that may not be blank yet."),
  spent: optional("S", list(range), "Dead rows that are blank, and whose keys are still needed."),
  uploads: optional("U", uploads, "Uploads that no commit has used yet."),
  closed: optional("z", yes, "The incarnation ends here; no row is inserted on this row."),
} as const;

type Fields = typeof headFields;
type ValueOf<F> = F extends Field<infer T, boolean> ? T : never;

/** A decoded head of a row. {@link headFields} documents the fields. */
export type Head = { readonly number: number } & {
  readonly [K in keyof Fields as Fields[K]["isRequired"] extends true ? K : never]: ValueOf<Fields[K]>;
} & {
  readonly [K in keyof Fields as Fields[K]["isRequired"] extends true ? never : K]?:
    | ValueOf<Fields[K]>
    | undefined;
};

type AnyField = Field<unknown, boolean>;
const table = Object.entries(headFields as unknown as Record<keyof Fields, AnyField>).map(
  ([name, field]) => ({
    ...field,
    name: name as keyof Fields,
    mark: `,"${field.key}":`,
  }),
);
const byKey = new Map(table.map((field) => [field.key, field]));
/** All heads have the same shape, so creating and reading them is fast. */
const emptyHead: Readonly<Record<string, unknown>> = Object.fromEntries(
  table.map(({ name }) => [name, undefined]),
);
const requiredNames = table.filter(({ isRequired }) => isRequired).map(({ name }) => name);

function originOf(number: number, base: unknown): number {
  return number < FIRST_ROW ? count.decode(base, 0) : number;
}

/** Writes a head as compact JSON, without absent fields and empty lists. */
export function encodeHead(head: Head): string {
  const origin = originOf(head.number, head.base);
  // Faster than JSON.stringify of an object with all fields.
  let text = `{"v":${FORMAT_VERSION}`;
  for (const { name, mark, type } of table) {
    const value = head[name];
    if (value === undefined || (Array.isArray(value) && value.length === 0)) continue;
    const json = type.encode(value, origin);
    text += mark + (typeof json === "number" ? json : JSON.stringify(json));
  }
  return `${text}}`;
}

function corrupt(number: number, problem: string, cause?: unknown): StoreError {
  return new StoreError("CORRUPT", `log row ${number} cannot be read: ${problem}`, { cause });
}

function parse(number: number, text: string): Record<string, unknown> {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw corrupt(number, "its head is not JSON", cause);
  }
  if (json?.v === FORMAT_VERSION) return json;
  throw corrupt(
    number,
    typeof json?.v === "number"
      ? `it has format version ${json.v}, this package reads up to ${FORMAT_VERSION}; upgrade @scrollback/store-core`
      : "its head is not Scrollback's",
  );
}

/** Reads a head. @throws StoreError `CORRUPT` if a field is damaged or the format version is newer. */
export function decodeHead(number: number, text: string): Head {
  const json = parse(number, text);
  const head: Record<string, unknown> = { ...emptyHead, number };
  let name = "base";
  try {
    const origin = originOf(number, json.b);
    for (const key in json) {
      const field = byKey.get(key);
      if (!field) continue;
      name = field.name;
      head[name] = field.type.decode(json[key], origin);
    }
    for (name of requiredNames) if (head[name] === undefined) throw new Malformed("is missing");
  } catch (cause) {
    if (!(cause instanceof Malformed)) throw cause;
    throw corrupt(number, `the field ${name} of its head ${cause.message}`);
  }
  const decoded = head as unknown as Head;
  const problem = contradictionIn(decoded);
  if (problem !== undefined) throw corrupt(number, problem);
  return decoded;
}

/** The fields from which the messages of a row follow. */
const contentsNames = [
  "incarnation",
  "start",
  "kinds",
  "setsMetadata",
  "back",
  "fragments",
  "uploads",
] as const;
const contentsFields = contentsNames.map((name) => [name, headFields[name] as AnyField] as const);

/** The fields of a head from which the messages of its row follow. */
export type ContentsHead = Pick<Head, "number" | (typeof contentsNames)[number]>;

function keyOf(name: keyof Fields): string {
  return `"${headFields[name].key}":`;
}

const versionMark = `{"v":${FORMAT_VERSION},`;
const incarnationMark = `,${keyOf("incarnation")}"`;
const startMark = `,${keyOf("start")}`;
/**
 * The messages of the most frequent head, a commit without fragments, as the encoder writes it. Sticky: it matches at one position
 * only, because a search in a damaged head could take quadratic time.
 */
const plainMessages = new RegExp(
  `${startMark}(\\d+),${keyOf("kinds")}"([sutcbko]*)",(${keyOf("setsMetadata")}1,)?` +
    `(?:${keyOf("back")}(\\d+),)?${keyOf("bounds")}\\[(\\d+),(\\d+)\\]`,
  "y",
);
const uploadsMark = `,${keyOf("uploads")}`;

/**
 * Reads the fields of {@link ContentsHead} from the text of the most frequent head, in a tenth of the time of the whole head.
 * Ignores uploads. Undefined for any other head, and if the fields contradict each other.
 */
export function decodePlainContents(number: number, text: string): ContentsHead | undefined {
  if (!text.startsWith(versionMark)) return undefined;
  const from = text.indexOf(incarnationMark) + incarnationMark.length;
  const to = text.indexOf('"', from);
  const at = text.indexOf(startMark, to);
  if (from < incarnationMark.length || to <= from || at < 0) return undefined;
  const incarnation = text.slice(from, to);
  plainMessages.lastIndex = at;
  const match = plainMessages.exec(text);
  if (!match || incarnation.includes("\\")) return undefined;
  const [, startText, kinds = "", setsMetadata, backText, firstText, nextText] = match;
  const start = Number(startText);
  const [first, next] = [Number(firstText), Number(nextText)];
  const back = backText === undefined ? undefined : number - Number(backText);
  if (start < 1 || start + kinds.length !== next || first < 1 || first > next) return undefined;
  if (!Number.isSafeInteger(next) || kinds.length > MAX_TEXTS) return undefined;
  if (back !== undefined && (back < FIRST_ROW || back >= number)) return undefined;
  return {
    number,
    incarnation,
    start,
    kinds,
    setsMetadata: setsMetadata === undefined ? undefined : 1,
    back,
    fragments: undefined,
    uploads: undefined,
  };
}

/** Reads only the fields of {@link ContentsHead}, faster than the whole head. @throws StoreError `CORRUPT` */
export function decodeRowContents(number: number, text: string): ContentsHead {
  const plain = text.includes(uploadsMark) ? undefined : decodePlainContents(number, text);
  if (plain) return plain;
  const json = parse(number, text);
  const head: Record<string, unknown> = {
    ...{ number, incarnation: undefined, start: undefined, kinds: undefined, setsMetadata: undefined },
    ...{ back: undefined, fragments: undefined, uploads: undefined },
  };
  for (const [name, { key, type }] of contentsFields) {
    const value = json[key];
    if (value === undefined) continue;
    try {
      head[name] = type.decode(value, number);
    } catch (cause) {
      if (!(cause instanceof Malformed)) throw cause;
      throw corrupt(number, `the field ${name} of its head ${cause.message}`);
    }
  }
  if (head.incarnation === undefined) throw corrupt(number, "the field incarnation of its head is missing");
  return head as unknown as ContentsHead;
}

/** Reads a head; undefined if it is damaged. */
export function decodeHeadIfSound({ number, head }: { number: number; head: string }): Head | undefined {
  try {
    return decodeHead(number, head);
  } catch {
    return undefined;
  }
}

/** Checks several fields together: fields that require each other, and fields that limit each other. */
function contradictionIn(head: Head): string | undefined {
  const { number, bounds, pinned, compaction, start = 0, kinds = "" } = head;
  const isRoot = number < FIRST_ROW;
  if (isRoot !== (head.base !== undefined) || isRoot === (head.predecessor !== undefined))
    return "its head mixes a root and a row";
  if (isRoot && (head.base ?? 0) < FIRST_ROW) return "its head has a first row among the roots";
  const commit = [head.operationId, head.digest, head.start];
  const isCommit = head.operationId !== undefined;
  if (commit.some((field) => (field !== undefined) !== isCommit)) return "its head has half a commit";
  if (head.n > 0 !== (head.updatedAt !== undefined)) return "its head has the time of no commit";
  if (isCommit && (head.n === 0 || isRoot)) return "its head has a commit that is not counted";
  if (head.earlier && (!isCommit || head.n <= head.earlier.length))
    return "its head has earlier commits that are not counted";
  if (bounds[0] < 1 || bounds[0] > bounds[1]) return "its head has impossible sequence numbers";
  for (const [sequence, spots] of joined(pinned && [pinned], compaction && [compaction])) {
    if (sequence < 1 || sequence >= bounds[0] || spots.length === 0)
      return "its head has an impossible pinned message";
  }
  if (pinned && compaction && pinned[0] >= compaction[0])
    return "its head has pinned messages in the wrong order";
  if (head.searched?.some((sequence) => sequence > bounds[1]))
    return "its head has looked at messages that it does not have";
  if (isCommit && (start < 1 || start + kinds.length !== bounds[1]))
    return "its head has messages without a sequence number";
  if (head.newest === number && kinds === "") return "its head has a newest message that it does not hold";
  if (head.metadata?.length === 0) return "its head has metadata in no place";
  for (const [, from, to] of head.fragments ?? []) {
    if (from >= to || to > textCountOf(head)) return "its head has fragments of other texts";
  }
  for (const [, index, size] of spotsIn(head)) {
    if (index >= size) return "its head names a text that its row cannot have";
  }
  for (const [, from, to] of head.blank ?? []) {
    if (from >= to || to > MAX_TEXTS + 1) return "its head has texts to blank that cannot exist";
  }
  return undefined;
}

/** The sequence numbers of a thread. */
export function boundsOf({ pinned, compaction, bounds: [first, next] }: Head): SequenceBounds {
  return { pinned: pinned?.[0] ?? null, compaction: compaction?.[0] ?? null, first, next };
}

/** The positions of the pinned messages and of the metadata. */
export function spotsIn({ pinned, compaction, metadata }: Partial<Head>): readonly Spot[] {
  return joined(pinned?.[1], compaction?.[1], metadata);
}

/** The number of texts in a commit's row. */
export function textCountOf({ kinds = "", setsMetadata }: Pick<Head, "kinds" | "setsMetadata">): number {
  return kinds.length + (setsMetadata ?? 0);
}

/** The names, keys, types and meanings of a head's fields, for the documentation of the format. */
export function describeHead(): {
  name: string;
  key: string;
  type: string;
  required: boolean;
  doc: string;
}[] {
  return table.map(({ name, key, type, isRequired, doc }) => ({
    name,
    key,
    type: type.name,
    required: isRequired,
    doc,
  }));
}
