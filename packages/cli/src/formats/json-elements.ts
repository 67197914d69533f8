import { createReadStream } from "node:fs";

/** The place of an element of a JSON array in a file, or of the file's only value, with its problem if it must not be read. */
export interface JsonElement {
  readonly offset: number;
  readonly length: number;
  readonly problem?: string;
}

/** The maximum size of an element, which is read whole. */
const MAX_ELEMENT_MIB = 64;
/** The maximum number of objects and lists inside each other. */
const MAX_DEPTH = 10_000;

/** The bytes of JSON's structure. */
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const OPEN_OBJECT = 0x7b;
const CLOSE_LIST = 0x5d;
const CLOSE_OBJECT = 0x7d;

/**
 * Finds the elements of a file's JSON array, or its only object, without parsing or keeping them. The last one has the problem of the
 * file's structure, if there is one. A wrong element does not hide those after it, unless its brackets or quotes are not closed.
 */
export async function* jsonElements(path: string, signal: AbortSignal): AsyncGenerator<JsonElement, void> {
  const scanner = new Scanner();
  let offset = 0;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    yield* scanner.scan(chunk, offset);
    offset += chunk.length;
    if (scanner.problem !== undefined) break;
  }
  const problem = scanner.problem ?? scanner.endProblem();
  if (problem !== undefined) yield { offset: scanner.begin ?? offset, length: 0, problem };
}

class Scanner {
  /** The problem of the file, after which nothing is scanned. */
  problem: string | undefined;
  /** The offset of the current element. */
  begin: number | undefined;
  #depth = 0;
  #deepest = 0;
  /** The depth of elements: 1 in an array, 0 for a single object; undefined before the first byte. */
  #level: number | undefined;
  #isText = false;
  #isEscaped = false;
  #isEnded = false;

  /** Yields the elements that end in the next bytes of the file. */
  *scan(chunk: Buffer, offset: number): Generator<JsonElement, void> {
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] as number;
      if (this.#isText) {
        if (this.#isEscaped) this.#isEscaped = false;
        else if (byte === BACKSLASH) this.#isEscaped = true;
        else if (byte === QUOTE) this.#isText = false;
        continue;
      }
      if (byte <= 0x20) continue;
      const at = offset + index;
      // A byte order mark.
      if (this.#level === undefined && at < 3 && byte >= 0x80) continue;
      if (this.#level === undefined && byte !== OPEN_LIST && byte !== OPEN_OBJECT) {
        this.problem = chunk.subarray(index, index + 2).equals(Buffer.from("PK"))
          ? "this is a ZIP file; unpack it first"
          : "this is not a JSON list or object";
        return;
      }
      if (this.#isEnded) {
        this.problem = "there is more text after the end of the JSON";
        return;
      }
      if (this.#level === undefined) {
        this.#level = byte === OPEN_LIST ? 1 : 0;
        if (byte === OPEN_LIST) {
          this.#depth = 1;
          continue;
        }
      }
      const isBetween = this.#depth === this.#level && (byte === COMMA || byte === CLOSE_LIST);
      if (isBetween) {
        yield* this.#end(at);
        this.#isEnded = byte === CLOSE_LIST;
        continue;
      }
      this.begin ??= at;
      if (byte === QUOTE) this.#isText = true;
      else if (byte === OPEN_LIST || byte === OPEN_OBJECT) {
        this.#depth += 1;
        if (this.#depth > this.#deepest) this.#deepest = this.#depth;
      } else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) {
        this.#depth -= 1;
        if (this.#depth < this.#level) {
          this.problem = "the brackets do not match";
          return;
        }
        if (this.#depth === this.#level) yield* this.#end(at + 1);
        this.#isEnded = this.#depth === 0;
      }
    }
  }

  /** The problem of a file that ends here. */
  endProblem(): string | undefined {
    if (this.#level === undefined) return "the file is empty";
    return this.#isEnded ? undefined : "the file ends before its JSON does";
  }

  *#end(offset: number): Generator<JsonElement, void> {
    if (this.begin === undefined) return;
    const element = { offset: this.begin, length: offset - this.begin };
    const problem =
      element.length > MAX_ELEMENT_MIB * 2 ** 20
        ? `it is larger than ${MAX_ELEMENT_MIB} MiB`
        : this.#deepest > MAX_DEPTH
          ? `it is nested more than ${MAX_DEPTH} levels deep`
          : undefined;
    this.begin = undefined;
    this.#deepest = 0;
    yield problem === undefined ? element : { ...element, problem };
  }
}
