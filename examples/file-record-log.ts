import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, link, mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type Amendment,
  amendedExpiry,
  FIRST_ROW,
  isBlanked,
  type LogRow,
  type RecordLog,
  RecordLogDriver,
  refuseStreamCursor,
  type StreamPage,
  type StreamsRequest,
} from "@scrollback/record-log";
import type { ChatMessage, StoreFactory, StoreOptions } from "@scrollback/store-core";
import { createStores, type ErrorClassification, invalid, isString } from "@scrollback/store-core/driver";

/**
 * Stores in a directory of files, for any number of processes of one machine, on a local file system of Linux or macOS.
 *
 * @param directory must exist. The files in it are readable only by their owner.
 * @throws StoreError `INVALID_ARGUMENT` for a wrong or unknown option.
 * @example
 * const stores = createFileStores("/var/lib/app/chats", { maxMessages: 200 });
 */
export function createFileStores<M = ChatMessage>(
  directory: string,
  options?: StoreOptions<M>,
): StoreFactory<M> {
  return createStores(new RecordLogDriver(new FileRecordLog(directory)), options);
}

/**
 * A record log in a directory of files. A stream is a folder, named by the SHA-256 of the stream's name. Its row 1234 is
 * the file `0000000000001/234` in that folder. The row's texts are in the file `0000000000001/234.<uuid>`. Roots have the
 * stream's name, so that streams can be listed.
 *
 * No operation reads, changes and writes back, so no process undoes the changes of another one: a link makes a complete
 * row file visible; a text is overwritten in place, or deleted; a change of the expiry is appended to the row file.
 */
export class FileRecordLog implements RecordLog {
  readonly capabilities = Object.freeze({
    backend: "file",
    sharing: "machine",
    roundTrips: Object.freeze({ commit: 1, read: 1 }),
    maxRowBytes: Number.MAX_SAFE_INTEGER,
  });
  readonly #directory: string;

  constructor(directory: string) {
    const problem = isString(directory);
    if (problem) invalid(`createFileStores: directory ${problem}`);
    this.#directory = directory;
  }

  async insert(stream: string, { number, head, texts, expiresAt }: LogRow): Promise<boolean> {
    const path = join(this.#folderOf(stream), nameOf(number));
    const id = randomUUID();
    const sizes = texts.map((text) => Buffer.byteLength(text));
    const fields: RowFields = { head, expiresAt, id, sizes, ...(number < FIRST_ROW && { stream }) };
    await access(this.#directory);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(`${path}.${id}`, texts.join(""), { mode: 0o600, flush: true });
    await writeFile(`${path}.${id}.row`, JSON.stringify(fields), { mode: 0o600, flush: true });
    try {
      await link(`${path}.${id}.row`, path);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw error;
      await rm(`${path}.${id}`, { force: true });
      return false;
    } finally {
      await rm(`${path}.${id}.row`, { force: true });
    }
    for (const folder of [dirname(path), this.#folderOf(stream), this.#directory]) await syncFolder(folder);
    return true;
  }

  async read(stream: string, below: number, limit: number, heads: boolean): Promise<LogRow[]> {
    const found: LogRow[] = [];
    for await (const path of this.#rowPaths(stream, 1, below)) {
      if (found.length >= limit) break;
      const row = await readRow(path, heads);
      if (row) found.push(row);
    }
    return found;
  }

  async amend(stream: string, amendments: readonly Amendment[]): Promise<void> {
    for (const amendment of amendments) {
      for await (const path of this.#rowPaths(stream, amendment.from, amendment.to)) {
        await amendRow(path, amendment);
      }
    }
  }

  /** In the order of the folders, not of the names. Reads one folder after the other until the page is full. */
  async streams({ prefix, limit, after }: StreamsRequest): Promise<StreamPage> {
    if (after !== undefined && !isFolder(after)) refuseStreamCursor();
    const names = (await readdir(this.#directory)).filter(isFolder).sort();
    const folders = names.filter((name) => after === undefined || name > after);
    const streams: string[] = [];
    for (const [index, folder] of folders.entries()) {
      const stream = await streamOf(join(this.#directory, folder));
      if (stream?.startsWith(prefix)) streams.push(stream);
      if (streams.length === limit && index < folders.length - 1) return { streams, next: folder };
    }
    return { streams };
  }

  async close(): Promise<void> {}

  classifyError(error: unknown): ErrorClassification | undefined {
    if (error instanceof SyntaxError) return { code: "CORRUPT", message: "file: a row file is damaged" };
    switch (codeOf(error)) {
      case "ENOENT":
        return unavailable("the directory is not there; create it, or mount its disk", true);
      case "EACCES":
      case "EPERM":
      case "EROFS":
        return unavailable("this user needs to read and write the directory and what is in it");
      case "ENOSPC":
      case "EDQUOT":
        return unavailable("the disk is full; free some space and try again");
      default:
        return undefined;
    }
  }

  #folderOf(stream: string): string {
    return join(this.#directory, createHash("sha256").update(stream).digest("hex"));
  }

  /** The row files `from` to `to - 1`, highest first. */
  async *#rowPaths(stream: string, from: number, to: number): AsyncGenerator<string> {
    const folder = this.#folderOf(stream);
    const [first, end] = [nameOf(from), nameOf(Math.min(to, Number.MAX_SAFE_INTEGER + 1))];
    const thousands = await namesIn(folder);
    // A stream without a folder is empty; a missing directory means that the disk is not mounted.
    if (thousands.length === 0) await access(this.#directory);
    for (const thousand of thousands) {
      if (thousand < dirname(first) || thousand > dirname(end)) continue;
      for (const name of await namesIn(join(folder, thousand))) {
        const row = join(thousand, name);
        if (!name.includes(".") && row >= first && row < end) yield join(folder, row);
      }
    }
  }
}

/** `0000000000001/234` for row 1234: names in the order of the numbers, at most a thousand in a folder. */
function nameOf(number: number): string {
  return String(number).padStart(16, "0").replace(/...$/, "/$&");
}

function isFolder(name: string): boolean {
  return /^[\da-f]{64}$/.test(name);
}

/** The name of a stream, from a root in its folder; undefined if there is no root. */
async function streamOf(folder: string): Promise<string | undefined> {
  for (const thousand of (await namesIn(folder)).filter((name) => name <= dirname(nameOf(FIRST_ROW)))) {
    for (const name of (await namesIn(join(folder, thousand))).filter((name) => !name.includes("."))) {
      const file = await ifThere(readFile(join(folder, thousand, name), "utf8"));
      const stream = file === undefined ? undefined : parseRow(file).stream;
      if (stream !== undefined) return stream;
    }
  }
  return undefined;
}

/** The first line of a row file, as JSON. */
interface RowFields extends Pick<LogRow, "head" | "expiresAt"> {
  /** The suffix of the name of the file with the texts. */
  readonly id: string;
  /** The bytes of each text in that file, in order. */
  readonly sizes: readonly number[];
  /** The stream's name, in roots. */
  readonly stream?: string;
}

/** UTF-8 never contains this byte, so a text that contains it was blanked. */
const BLANK = 0xff;

/** Each line below the first is a change of the expiry: that of an {@link Amendment}, as JSON, and a semicolon. */
export function parseRow(file: string): RowFields {
  const [line = "", ...changes] = file.split("\n");
  const fields: RowFields = JSON.parse(line);
  const whole = changes.filter((change) => change.endsWith(";"));
  const expiresAt = whole.reduce(
    (before, change) => amendedExpiry(before, JSON.parse(change.slice(0, -1))),
    fields.expiresAt,
  );
  return { ...fields, expiresAt };
}

async function readRow(path: string, headsOnly: boolean): Promise<LogRow | undefined> {
  const file = await ifThere(readFile(path, "utf8"));
  if (file === undefined) return undefined;
  const { head, expiresAt, id, sizes } = parseRow(file);
  const bytes = headsOnly ? undefined : await ifThere(readFile(`${path}.${id}`));
  let end = 0;
  const texts = sizes.map((size) => {
    end += size;
    const text = bytes?.subarray(end - size, end);
    return text?.length !== size || text.includes(BLANK) ? "" : text.toString();
  });
  return { number: Number(path.slice(-17).replace("/", "")), head, texts, expiresAt };
}

async function amendRow(path: string, amendment: Amendment): Promise<void> {
  await using file = await ifThere(open(path, constants.O_RDWR | constants.O_APPEND));
  if (!file) return;
  const { blank, expiresAt, extend } = amendment;
  const row = parseRow(await file.readFile("utf8"));
  if (blank) await blankTexts(`${path}.${row.id}`, row.sizes, blank);
  if (amendedExpiry(row.expiresAt, amendment) === row.expiresAt) return;
  await file.appendFile(`\n${JSON.stringify({ expiresAt, extend })};`);
  await file.datasync();
}

async function blankTexts(path: string, sizes: readonly number[], blank: Amendment["blank"]): Promise<void> {
  await using file = await ifThere(open(path, "r+"));
  let end = 0;
  for (const [index, size] of sizes.entries()) {
    if (isBlanked(blank, index)) await file?.write(Buffer.alloc(size, BLANK), 0, size, end);
    end += size;
  }
  await file?.datasync();
  if (sizes.every((_, index) => isBlanked(blank, index))) await rm(path, { force: true });
}

function unavailable(problem: string, retryable = false): ErrorClassification {
  return { code: "UNAVAILABLE", message: `file: ${problem}`, retryable };
}

/** Makes the names in a folder survive a power cut. */
async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path);
  await folder.sync();
}

/** The names in a folder, highest first. */
export async function namesIn(folder: string): Promise<string[]> {
  return ((await ifThere(readdir(folder))) ?? []).sort().reverse();
}

/** Undefined if the file does not exist. */
export async function ifThere<T>(work: Promise<T>): Promise<T | undefined> {
  return await work.catch((error) => {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  });
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
