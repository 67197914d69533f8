import type { ChatMessage } from "@scrollback/store-core";
import type { Contestant } from "../backend.ts";

/** What a record log keeps beside the messages of a commit, in bytes: the raw clients write as many. */
export const HEAD = "h".repeat(280);

/** More commits than any thread has. */
const MANY = 1_000_000;
const FILLED_AT_ONCE = 1_000;

/** A row as the raw client writes it: one a commit. */
export interface RawRow {
  readonly threadId: string;
  readonly number: number;
  /** The messages as JSON. */
  readonly texts: readonly string[];
}

/** What a client is asked for. */
export interface RawLog {
  insert(row: RawRow): Promise<unknown>;
  /** Many rows, as quickly as the client can. */
  insertMany(rows: readonly RawRow[]): Promise<unknown>;
  /** The texts of the newest rows, newest row first. */
  read(threadId: string, limit: number): Promise<readonly (readonly string[])[]>;
  close(): Promise<unknown>;
}

/**
 * What one would write by hand on a backend that keeps a row a commit: nothing is compared, remembered or trimmed.
 *
 * @param numbers how many commits each thread has, for all connections. So writers never meet at a number.
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
