import { setImmediate as later } from "node:timers/promises";
import {
  type Amendment,
  isBlanked,
  type LogRow,
  MemoryRecordLog,
  type RecordLog,
  type StreamPage,
} from "../../src/index.ts";

/** A log in memory that breaks the contract of `RecordLog` in one way. */
type Broken = Partial<Pick<RecordLog, "insert" | "read" | "amend" | "streams">>;

/** The name of the log without a fault. If a test fails on it, the failures on the other logs prove nothing. */
export const SOUND = "has no fault";

/** By fault; `sound` is the log without the fault. */
export const brokenLogs: Readonly<Record<string, (sound: MemoryRecordLog) => Broken>> = {
  "reports an insert under a used key": (sound) => ({
    async insert(stream, row) {
      await sound.insert(stream, row);
      return true;
    },
  }),
  "treats the key of a blank row as free": (sound) => ({
    async insert(stream, row) {
      const taken = await sound.insert(stream, row);
      return taken === true || (typeof taken === "object" && taken.texts.join("") === "");
    },
  }),
  "drops the expiry of a row": (sound) => ({
    insert: (stream, { expiresAt: _, ...row }) => sound.insert(stream, row),
  }),
  "cuts rows close to the maximum size": (sound) => ({
    insert: (stream, row) =>
      sound.insert(stream, { ...row, texts: row.texts.map((text) => text.slice(0, 380 * 1024)) }),
  }),
  "returns the lowest row first": (sound) => ({
    read: async (...asked) => (await sound.read(...readOf(asked))).reverse(),
  }),
  "includes the row at the upper bound": (sound) => ({
    read: (stream, below, limit) => sound.read(stream, below + 1, limit),
  }),
  "returns one row less than the limit": (sound) => ({
    read: (stream, below, limit) => sound.read(stream, below, Math.max(1, limit - 1)),
  }),
  "amends only the first row of a range": (sound) =>
    amending(sound, (one) => ({ ...one, to: Math.min(one.to, one.from + 1) })),
  "also amends the row at the end of a range": (sound) =>
    amending(sound, (one) => ({ ...one, to: one.to + 1 })),
  "does not amend the first row of a range": (sound) =>
    amending(sound, (one) => ({ ...one, from: one.from + 1 })),
  "creates the row that an amendment names": (sound) => ({
    async amend(stream, amendments) {
      for (const { from, to } of amendments) {
        if (from < to) await sound.insert(stream, { number: from, head: "", texts: [] });
      }
      await sound.amend(stream, amendments);
    },
  }),
  "blanks one text too many": (sound) =>
    amending(sound, ({ blank, ...one }) => ({
      ...one,
      ...(typeof blank === "object" && { blank: { ...blank, to: blank.to + 1 } }),
      ...(blank === "all" && { blank }),
    })),
  "extends no row to never": (sound) =>
    extending(sound, ({ to, atLeast }) => ({ extend: to === null ? undefined : { to, atLeast } })),
  "shortens the expiry of a row by a late extension": (sound) =>
    extending(sound, ({ to, atLeast }) => (to === null ? { extend: { to, atLeast } } : { expiresAt: to })),
  "also extends rows that expire before the given time": (sound) =>
    extending(sound, ({ to }) => ({ extend: { to, atLeast: 0 } })),
  "does not extend the rows that expire at the given time": (sound) =>
    extending(sound, ({ to, atLeast }) => ({ extend: { to, atLeast: atLeast + 1 } })),
  "sets an expiry on a row without one": (sound) => ({
    async amend(stream, amendments) {
      for (const { from, to, extend } of amendments) {
        const rows = await sound.read(stream, to, Number.POSITIVE_INFINITY);
        for (const { number, expiresAt } of rows) {
          if (number < from || expiresAt !== undefined || typeof extend?.to !== "number") continue;
          await sound.amend(stream, [{ from: number, to: number + 1, expiresAt: extend.to }]);
        }
      }
      await sound.amend(stream, amendments);
    },
  }),
  "undoes concurrent amendments": (sound) => ({
    async amend(stream, amendments) {
      const before = await sound.read(stream, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
      await later();
      await sound.amend(stream, amendments);
      const after = await sound.read(stream, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
      for (const { number, texts } of after) {
        const blanked = (index: number) =>
          amendments.some(
            ({ from, to, blank }) => from <= number && number < to && blank && isBlanked(blank, index),
          );
        const read = before.find((row) => row.number === number)?.texts ?? texts;
        for (const [index, text] of read.entries()) {
          if (text !== "" && !blanked(index)) sound.plant(stream, number, index, text);
        }
      }
    },
  }),
  "expires a row a fraction of a second early": (sound) => ({
    insert: (stream, { expiresAt, ...row }) =>
      sound.insert(stream, {
        ...row,
        ...(expiresAt !== undefined && { expiresAt: Math.floor(expiresAt / 1_000) * 1_000 }),
      }),
  }),
  "misses the stream after the end of a page": (sound) =>
    listing(sound, ({ next, ...page }) => ({ ...page, next: next && `${next}\u{10ffff}` })),
  "omits the last stream of a page": (sound) =>
    listing(sound, ({ streams, next }) => ({ streams: next ? streams.slice(0, -1) : streams, next })),
  "reports a full page as the last one": (sound) => listing(sound, ({ streams }) => ({ streams })),
  "lists streams of other prefixes": (sound) => ({
    streams: ({ prefix, ...request }) => sound.streams({ prefix: prefix.slice(0, -1), ...request }),
  }),
  "treats a prefix as a pattern": (sound) => ({
    async streams({ prefix, limit, after }) {
      const pattern = new RegExp(`^${prefix.replace(/[^\w%]/g, "\\$&").replace(/[%_]/g, ".*")}`, "s");
      const { streams } = await sound.streams({ prefix: prefix.slice(0, 36), limit: 1_000, after });
      return { streams: streams.filter((name) => pattern.test(name)).slice(0, limit) };
    },
  }),
  "lists streams without a root": (sound) => {
    const names = new Set<string>();
    return {
      async insert(stream, row) {
        names.add(stream);
        return await sound.insert(stream, row);
      },
      async streams({ prefix, limit, after = "" }) {
        const found = [...names].filter((name) => name.startsWith(prefix) && name > after).sort();
        return { streams: found.slice(0, limit), ...(found.length > limit && { next: found[limit - 1] }) };
      },
    };
  },
  "accepts any cursor": (sound) => ({
    streams: ({ after, ...request }) =>
      sound.streams({ ...request, after: after?.startsWith(request.prefix) ? after : undefined }),
  }),
  "ignores the case of letters": (sound) => ({
    insert: (stream, row) => sound.insert(stream.toLowerCase(), row),
    read: (stream, below, limit) => sound.read(stream.toLowerCase(), below, limit),
    amend: (stream, amendments) => sound.amend(stream.toLowerCase(), amendments),
  }),
};

const readOf = ([stream, below, limit]: Parameters<RecordLog["read"]>) => [stream, below, limit] as const;

const amending = (sound: MemoryRecordLog, change: (one: Amendment) => Amendment): Broken => ({
  amend: (stream, amendments) => sound.amend(stream, amendments.map(change)),
});

const listing = (sound: MemoryRecordLog, change: (page: StreamPage) => StreamPage): Broken => ({
  streams: async (request) => change(await sound.streams(request)),
});

/** Replaces an extension by another expiry. */
const extending = (
  sound: MemoryRecordLog,
  change: (extend: NonNullable<Amendment["extend"]>) => {
    expiresAt?: number;
    extend?: Amendment["extend"] | undefined;
  },
): Broken =>
  amending(sound, ({ extend, ...one }) => {
    if (!extend) return one;
    const { extend: changed, ...rest } = change(extend);
    return { ...one, ...rest, ...(changed && { extend: changed }) };
  });

/** A log with one fault; the rest works. */
export function logOf(breakIt: (sound: MemoryRecordLog) => Broken): {
  log: RecordLog;
  sound: MemoryRecordLog;
} {
  const sound = new MemoryRecordLog();
  const broken = breakIt(sound);
  const log: RecordLog = {
    capabilities: sound.capabilities,
    insert: (stream: string, row: LogRow) => (broken.insert ?? sound.insert.bind(sound))(stream, row),
    read: (...asked) => (broken.read ? broken.read(...asked) : sound.read(...readOf(asked))),
    amend: (stream, amendments) => (broken.amend ?? sound.amend.bind(sound))(stream, amendments),
    streams: (request) => (broken.streams ?? sound.streams.bind(sound))(request),
    close: async () => {},
    classifyError: () => undefined,
  };
  return { log, sound };
}
