import { constants, isUtf8 } from "node:buffer";
import { createReadStream } from "node:fs";

/** A line of a file. */
export interface Line {
  readonly text: string;
  /** Why the text is not what the file has; undefined if it is. */
  readonly problem: string | undefined;
  /** The first line has the number 1. */
  readonly number: number;
  /** The offset of the line in bytes. */
  readonly offset: number;
}

const LINE_FEED = 0x0a;
/** The size of the longest text of this process. */
const MAX_LINE_BYTES = constants.MAX_STRING_LENGTH;

/** The lines of a file from an offset, which must be the begin of line `number`. Includes empty lines. */
export function readLines(
  path: string,
  signal: AbortSignal,
  from: Pick<Line, "offset" | "number"> = { offset: 0, number: 1 },
): AsyncGenerator<Line, void, undefined> {
  return linesOf(createReadStream(path, { start: from.offset, signal }), from);
}

/** The lines of a stream, which begins at an offset of a file. */
export async function* linesOf(
  stream: AsyncIterable<Buffer | string>,
  { offset, number }: Pick<Line, "offset" | "number"> = { offset: 0, number: 1 },
): AsyncGenerator<Line, void, undefined> {
  let begin = offset;
  let count = number;
  let rest: Buffer[] = [];
  let length = 0;
  const add = (bytes: Buffer) => {
    length += bytes.length;
    if (length <= MAX_LINE_BYTES) rest.push(bytes);
    else rest = [];
  };
  const lineOf = (end: Buffer): Line => {
    add(end);
    const bytes = Buffer.concat(rest);
    const text = bytes.toString("utf8");
    const isWhole = bytes.length === length;
    const problem = isWhole && !isUtf8(bytes) ? "not valid UTF-8" : undefined;
    const line = {
      text: begin === 0 ? withoutByteOrderMark(text) : text,
      problem: isWhole ? problem : `longer than ${MAX_LINE_BYTES} bytes`,
      number: count,
      offset: begin,
    };
    begin += length + 1;
    rest = [];
    length = 0;
    count += 1;
    return line;
  };
  for await (const given of stream) {
    const chunk = typeof given === "string" ? Buffer.from(given) : given;
    let from = 0;
    for (let at = chunk.indexOf(LINE_FEED); at >= 0; at = chunk.indexOf(LINE_FEED, from)) {
      yield lineOf(chunk.subarray(from, at));
      from = at + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (length > 0) yield lineOf(Buffer.alloc(0));
}

/** Whether a line is empty, so that it is not read. */
export function isBlank({ text, problem }: Line): boolean {
  return problem === undefined && text.trim() === "";
}

/** The text of the first line of a file without the byte order mark, which some editors and spreadsheets write. */
function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/** The formats of a file to import. */
export type FileFormat = "jsonl" | "openai";

/** The problem of a file's first line if it is of another format, so that its other lines are not worth a problem each. */
export function foreignProblem(
  line: Readonly<Record<string, unknown>>,
  format: FileFormat,
): string | undefined {
  if (line.type === "scrollback.chat") return "this is the export of a chat; import it with mine.import";
  if (format === "jsonl" && line.type === undefined && Array.isArray(line.messages))
    return "this looks like OpenAI's chat format; add --format openai";
  if (format === "openai" && line.type === "thread" && line.messages === undefined)
    return "this looks like the format jsonl; omit --format openai";
  return undefined;
}
