import { type Amendment, type LogRow, MemoryRecordLog, type RecordLog } from "@scrollback/store-core";

/** A log in memory that does one thing otherwise than `RecordLog` states it. */
type Broken = Partial<Pick<RecordLog, "insert" | "read" | "amend">>;

/** By what each does; `sound` is the log that it would be. */
export const brokenLogs: Readonly<Record<string, (sound: MemoryRecordLog) => Broken>> = {
  "says that it inserted where the key was taken": (sound) => ({
    async insert(stream, row) {
      await sound.insert(stream, row);
      return true;
    },
  }),
  "takes the key of a blank row for free": (sound) => ({
    async insert(stream, row) {
      const taken = await sound.insert(stream, row);
      return taken === true || (typeof taken === "object" && taken.texts.join("") === "");
    },
  }),
  "forgets when a row expires": (sound) => ({
    insert: (stream, { expiresAt: _, ...row }) => sound.insert(stream, row),
  }),
  "cuts what is nearly as large as a row may be": (sound) => ({
    insert: (stream, row) =>
      sound.insert(stream, { ...row, texts: row.texts.map((text) => text.slice(0, 380 * 1024)) }),
  }),
  "gives the lowest row first": (sound) => ({
    read: async (...asked) => (await sound.read(...readOf(asked))).reverse(),
  }),
  "gives the row that it is to read below": (sound) => ({
    read: (stream, below, limit) => sound.read(stream, below + 1, limit),
  }),
  "gives a row less than is asked for": (sound) => ({
    read: (stream, below, limit) => sound.read(stream, below, Math.max(1, limit - 1)),
  }),
  "amends the first row of a range": (sound) => amending(sound, (one) => ({ ...one, to: one.from })),
  "blanks one text too many": (sound) =>
    amending(sound, ({ blank, ...one }) => ({
      ...one,
      ...(typeof blank === "object" && { blank: { ...blank, to: blank.to + 1 } }),
      ...(blank === "all" && { blank }),
    })),
  "shortens a life": (sound) =>
    amending(sound, ({ extendTo, ...one }) => ({
      ...one,
      ...(typeof extendTo === "number" ? { expiresAt: extendTo } : extendTo === null && { extendTo }),
    })),
  "lets a row expire that was to last for ever": (sound) =>
    amending(sound, ({ extendTo, ...one }) => ({
      ...one,
      ...(typeof extendTo === "number" && { extendTo }),
    })),
  "knows no large letters": (sound) => ({
    insert: (stream, row) => sound.insert(stream.toLowerCase(), row),
    read: (stream, below, limit) => sound.read(stream.toLowerCase(), below, limit),
    amend: (stream, amendments) => sound.amend(stream.toLowerCase(), amendments),
  }),
};

const readOf = ([stream, below, limit]: Parameters<RecordLog["read"]>) => [stream, below, limit] as const;

const amending = (sound: MemoryRecordLog, change: (one: Amendment) => Amendment): Broken => ({
  amend: (stream, amendments) => sound.amend(stream, amendments.map(change)),
});

/** A log that does what is broken in its way, and the rest as it should. */
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
    close: async () => {},
    classifyError: () => undefined,
  };
  return { log, sound };
}
