import { isUtf8 } from "node:buffer";
import { refuseLine, unreadableFile } from "../output/exit-codes.ts";

/** Where a line of a file begins, in bytes, and its number. The first line has the number 1. */
export interface Position {
  readonly offset: number;
  readonly number: number;
}

/** A line of a file. */
export interface Line extends Position {
  readonly text: string;
}

const LINE_FEED = 0x0a;

/**
 * The lines of a stream that are not empty.
 *
 * @param name the name of the file, for errors. @param from the begin of the stream in the file.
 * @throws CommandError if the file cannot be read, or a line is not valid UTF-8: its text would not be what the file has.
 */
export async function* linesOf(
  stream: AsyncIterable<Buffer | string>,
  name: string,
  from: Position = { offset: 0, number: 1 },
): AsyncGenerator<Line, void, undefined> {
  let { offset, number } = from;
  let rest: Buffer[] = [];
  function* take(end: Buffer): Generator<Line, void, undefined> {
    const bytes = Buffer.concat([...rest, end]);
    if (!isUtf8(bytes)) refuseLine(name, number, "not valid UTF-8");
    // Some editors and spreadsheets write a byte order mark.
    const text = bytes.toString("utf8").replace(offset === 0 ? /^\uFEFF/ : "", "");
    if (text.trim() !== "") yield { text, offset, number };
    rest = [];
    offset += bytes.length + 1;
    number += 1;
  }
  try {
    for await (const given of stream) {
      const chunk = Buffer.from(given);
      let begin = 0;
      for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, begin)) {
        yield* take(chunk.subarray(begin, at));
        begin = at + 1;
      }
      rest.push(chunk.subarray(begin));
    }
    yield* take(Buffer.alloc(0));
  } catch (error) {
    unreadableFile(name, error);
  }
}
