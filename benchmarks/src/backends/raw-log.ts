import type { ChatMessage } from "@scrollback/store-core";
import type { Contestant } from "../backend.ts";

/** The size in bytes of what a record log stores beside the messages of a commit: the raw clients write the same size. */
export const HEAD = "h".repeat(280);

/** More commits than any thread has. */
const MANY = 1_000_000;
const FILLED_AT_ONCE = 1_000;

/** A row of the raw client: one per commit. */
export interface RawRow {
  readonly threadId: string;
  readonly number: number;
  /** The messages as JSON. */
  readonly texts: readonly string[];
}

/** The requests to a raw client. */
export interface RawLog {
  insert(row: RawRow): Promise<unknown>;
  /** Inserts many rows, as fast as the client can. */
  insertMany(rows: readonly RawRow[]): Promise<unknown>;
  /** The texts of the newest rows, newest row first. */
  read(threadId: string, limit: number): Promise<readonly (readonly string[])[]>;
  close(): Promise<unknown>;
}

/**
 * The equivalent written by hand, on a backend that stores one row per commit: without comparing, remembering or trimming.
 *
 * @param numbers the number of commits of each thread, over all connections, so that writers never use the same number.
 */
export function rawLog(log: RawLog, numbers: Map<string, number>): Contestant {
  const next = (threadId: string, messages: readonly ChatMessage[]): RawRow => {
    const number = (numbers.get(threadId) ?? 0) + 1;
    numbers.set(threadId, number);
    return { threadId, number, texts: messages.map((message) => JSON.stringify(message)) };
  };
  return {
    async fill(threadId, messages) {
      for (let from = 0; from < messages.length; from += FILLED_AT_ONCE) {
        const chunk = messages.slice(from, from + FILLED_AT_ONCE);
        await log.insertMany(chunk.map((message) => next(threadId, [message])));
      }
    },
    open(threadId) {
      const read = async (limit: number) =>
        (await log.read(threadId, limit))
          .toReversed()
          .flat()
          .map((text): unknown => JSON.parse(text));
      return {
        append: (messages) => () => log.insert(next(threadId, messages)),
        newest: (count) => async () => (await read(count)).slice(-count),
        all: () => () => read(MANY),
      };
    },
    expected: (messages) => [...messages],
    close: () => log.close(),
  };
}
