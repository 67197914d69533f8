import { parseMetadata, valueOf as valueOfEnvelope } from "@scrollback/collections";
import { type Cursor, type MessageStore, type Revision, StoreError } from "@scrollback/store-core";
import { isObject } from "@scrollback/store-core/driver";
import type {
  CheckpointMessage,
  CheckpointPlace,
  LogFormat,
  LogMessage,
  NamedValue,
  PlacedMessage,
  ValueName,
  WritesMessage,
} from "./log-message.ts";
import { LogWindow } from "./log-window.ts";
import type { TypedValue } from "./typed-value.ts";

/** The number of messages of the largest page of a search. */
export const LARGEST_PAGE = 256;
const owner = { package: "@scrollback/bridge-langgraph", kind: "checkpoint log" };

/** The log at one revision, as far as it was read. */
export interface LogState {
  readonly revision: Revision | null;
  /** Undefined for a log that does not exist. */
  readonly format: LogFormat | undefined;
  readonly window: LogWindow;
  /** The cursor of what precedes the window, if it was read from there. */
  readonly older?: Cursor | undefined;
}

/** A checkpoint that was found in a log. */
export interface FoundCheckpoint {
  readonly checkpoint: CheckpointMessage;
  readonly position: number;
}

/** A checkpoint with its values and its pending writes. */
export interface CheckpointContent extends FoundCheckpoint {
  readonly values: readonly NamedValue[];
  /** In the order in which they were stored. */
  readonly writes: readonly FoundWrites[];
}

/** Pending writes that were found in a log, with their values. */
export interface FoundWrites {
  readonly message: WritesMessage;
  readonly position: number;
  readonly values: readonly TypedValue[];
}

/** Reads a log from its end. All that one reading returns is of one revision. */
export class LogReading {
  readonly #store: MessageStore;
  #state: LogState;

  /** Begins with a known state, without a request. */
  constructor(store: MessageStore, state: LogState) {
    this.#store = store;
    this.#state = state;
  }

  /** Reads the newest messages, at least `limit` of them or those that follow the cached state. */
  static async begin(store: MessageStore, limit: number, cached?: LogState): Promise<LogReading> {
    const { low, messages, ...state } = await readPage(store, { limit });
    if (cached && state.revision === cached.revision) return new LogReading(store, cached);
    const known = cached?.window;
    const isSame = known && state.format && cached.format?.epoch === state.format.epoch;
    if (!isSame || low > known.high || low + messages.length < known.high)
      return new LogReading(store, { ...state, window: new LogWindow(low, messages) });
    const window = known.withNewer(messages.slice(known.high - low));
    return new LogReading(store, { ...state, window, older: cached.older });
  }

  /** What was read so far. */
  get state(): LogState {
    return this.#state;
  }

  /** The position of the next message of the log. */
  get end(): number {
    return this.#state.window.high;
  }

  /** The position of the first pending writes of a checkpoint that is not in the log yet; undefined if there are none. */
  earlyOf(id: string): number | undefined {
    const { early = {} } = this.#state.format ?? {};
    return Object.hasOwn(early, id) ? early[id] : undefined;
  }

  /** The checkpoint with the highest id. */
  async newest(): Promise<FoundCheckpoint | undefined> {
    const highest = await this.highest();
    if (!highest) return undefined;
    const [, position] = highest;
    await this.#reach(position);
    const checkpoint = this.#state.window.at(position);
    if (checkpoint?.kind !== "checkpoint") throw missing(this.#store.threadId);
    return { checkpoint, position };
  }

  /** The id and the position of that checkpoint. */
  async highest(): Promise<CheckpointPlace | undefined> {
    for await (const found of this.#written()) return highestUntil(found);
    return undefined;
  }

  /** Reads all messages. Returns the checkpoints, highest id first. */
  async all(): Promise<FoundCheckpoint[]> {
    await this.#reach(0);
    const found: FoundCheckpoint[] = [];
    for await (const one of this.checkpoints()) found.push(one);
    return found;
  }

  /** Yields the checkpoints, highest id first. Of several with one id, yields the one that was written last. */
  async *checkpoints(): AsyncGenerator<FoundCheckpoint> {
    let last: string | undefined;
    // Those that may come after one that is not read yet, highest id first.
    let waiting: FoundCheckpoint[] = [];
    for await (const found of this.#written()) {
      const [highest] = highestUntil(found);
      const isNext = waiting.findIndex(({ checkpoint }) => checkpoint.id <= highest);
      const next = isNext === -1 ? waiting : waiting.slice(0, isNext);
      waiting = isNext === -1 ? [] : waiting.slice(isNext);
      for (const one of next) {
        if (one.checkpoint.id !== last) yield one;
        last = one.checkpoint.id;
      }
      const place = waiting.findIndex(({ checkpoint }) => checkpoint.id < found.checkpoint.id);
      waiting.splice(place === -1 ? waiting.length : place, 0, found);
    }
    for (const one of waiting) {
      if (one.checkpoint.id !== last) yield one;
      last = one.checkpoint.id;
    }
  }

  async find(id: string): Promise<FoundCheckpoint | undefined> {
    for await (const found of this.#written()) {
      if (found.checkpoint.id === id) return found;
      const [highest] = highestUntil(found);
      if (highest < id) return undefined;
    }
    return undefined;
  }

  /** Yields the checkpoints in the order in which they were written, last one first. */
  async *#written(): AsyncGenerator<FoundCheckpoint> {
    for (let position = this.#state.window.high - 1; position >= 0; position--) {
      if (position < this.#state.window.low) await this.#readOlder();
      const checkpoint = this.#state.window.at(position);
      if (checkpoint?.kind === "checkpoint") yield { checkpoint, position };
    }
  }

  /** The values of a checkpoint, or those of some channels, and its pending writes. Reads what they refer to in one request. */
  async content(
    { checkpoint, position }: FoundCheckpoint,
    isWanted: (channel: string) => boolean = () => true,
  ): Promise<CheckpointContent> {
    const wanted = checkpoint.values.map(([channel]) => channel).filter(isWanted);
    const first = checkpoint.early ?? position;
    await this.#reach(Math.min(first, this.#beginOf(position, wanted)));
    const found: { message: WritesMessage; position: number }[] = [];
    let begin = first;
    for (let at = first; at < this.#state.window.high; at++) {
      const message = this.#state.window.at(at);
      if (message?.kind !== "writes" || message.checkpointId !== checkpoint.id) continue;
      found.push({ message, position: at });
      begin = Math.min(begin, this.#beginOf(at, message.writes.keys()));
    }
    await this.#reach(begin);
    const { window } = this.#state;
    return {
      ...{ checkpoint, position },
      values: wanted.map((channel) => [channel, window.value(position, channel)] as const),
      writes: found.map(({ message, position: at }) => ({
        ...{ message, position: at },
        values: message.writes.map((_, place) => window.value(at, place)),
      })),
    };
  }

  #beginOf(position: number, names: Iterable<ValueName>): number {
    let begin = position;
    for (const name of names) begin = Math.min(begin, this.#state.window.beginOf(position, name));
    return begin;
  }

  /** Reads everything from a position on, mostly in one request. */
  async #reach(low: number): Promise<void> {
    while (this.#state.window.low > Math.max(low, 0)) await this.#readOlder(this.#state.window.low - low);
  }

  async #readOlder(wanted?: number): Promise<void> {
    const { window, older, format } = this.#state;
    const limit = Math.min(wanted ?? Math.min(window.messages.length * 4, LARGEST_PAGE), window.low);
    // A cached state has no cursor: its window is read again, with what precedes it.
    const request =
      older === undefined ? { limit: window.messages.length + limit } : { limit, before: older };
    const page = await readPage(this.#store, request);
    if (page.format?.epoch !== format?.epoch || page.low >= window.low) throw replaced(this.#store.threadId);
    const messages = page.messages.slice(0, window.low - page.low);
    this.#state = { ...this.#state, window: window.withOlder(messages), older: page.older };
  }
}

interface Page extends Omit<LogState, "window"> {
  /** The position of the first message. */
  readonly low: number;
  readonly messages: readonly LogMessage[];
}

async function readPage(
  store: MessageStore,
  request: { readonly limit: number; readonly before?: Cursor },
): Promise<Page> {
  const { entries, revision, metadata, count, older } = await store.read(request);
  const messages = entries.map(({ message }) => valueOfEnvelope<PlacedMessage>(message, isObject));
  const low = messages[0]?.at ?? count;
  const isFirst = older === undefined && entries.length > 0;
  if (messages.some(({ at }, index) => at !== low + index) || (isFirst && low !== 0))
    throw missing(store.threadId);
  return {
    revision,
    format: parseMetadata<LogFormat>(store.threadId, metadata, owner),
    messages,
    low,
    older,
  };
}

/** The checkpoints of a window, last one first. */
export function checkpointsOf(window: LogWindow): FoundCheckpoint[] {
  const found: FoundCheckpoint[] = [];
  for (let position = window.high - 1; position >= window.low; position--) {
    const checkpoint = window.at(position);
    if (checkpoint?.kind === "checkpoint") found.push({ checkpoint, position });
  }
  return found;
}

/** The highest id of a checkpoint and of those before it, and its position. */
function highestUntil({ checkpoint, position }: FoundCheckpoint): CheckpointPlace {
  return checkpoint.highest ?? [checkpoint.id, position];
}

function missing(threadId: string): StoreError {
  return new StoreError("CORRUPT", "a message of a checkpoint log is missing", { threadId });
}

function replaced(threadId: string): StoreError {
  return new StoreError(
    "CONFLICT",
    `the checkpoints were deleted or pruned while they were read; read them again`,
    {
      threadId,
    },
  );
}
