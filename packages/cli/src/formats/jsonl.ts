import { isListed } from "@scrollback/collections/internal";
import { chatMessageTraits, type ThreadInfo } from "@scrollback/store-core";
import { isId } from "@scrollback/store-core/driver";
import { isRecordTime, isTtl } from "@scrollback/store-core/internal";
import { isKnownMessage } from "../context/open-backend.ts";
import { decodeValue, encodeValue, textOfValue } from "./entry.ts";
import { foreignProblem, isBlank, type Line, readLines } from "./lines.ts";
import type { StorableCheck } from "./storable.ts";
import {
  ContentDigest,
  type FileMessage,
  type FileThread,
  type FileToRead,
  type LineProblem,
  MAX_PROBLEMS,
  type ThreadFile,
} from "./thread-file.ts";

const VERSION = 1;
/** The interval of messages whose position is remembered. */
const POSITION_INTERVAL = 500;

/** The first line of a thread. */
export function threadLine(thread: Omit<ThreadInfo, "count" | "bytes">): Record<string, unknown> {
  const { threadId, createdAt, updatedAt, expiresAt, metadata } = thread;
  return {
    type: "thread",
    version: VERSION,
    threadId,
    createdAt,
    updatedAt,
    ...(expiresAt !== undefined && { expiresAt }),
    ...(metadata !== undefined && encodeValue("metadata", metadata)),
  };
}

/** The line of a message. */
export function messageLine(createdAt: number, message: unknown): Record<string, unknown> {
  return { type: "message", createdAt, ...encodeValue("message", message) };
}

/** The last line of a thread. */
export function endLine(messages: number): Record<string, unknown> {
  return { type: "end", messages };
}

/** The last line of a thread that could not be read completely, so it must not be imported. */
export const skipLine: Readonly<Record<string, unknown>> = Object.freeze({ type: "skip" });

/** The position of a message of a thread. */
type MessagePosition = Pick<Line, "offset" | "number">;

class ThreadBuilder {
  readonly #header: Readonly<Record<string, unknown>>;
  readonly #digest = new ContentDigest();
  readonly #positions: MessagePosition[] = [];
  readonly threadId: string;
  readonly line: number;
  count = 0;
  /** The number of lines behind the first one, wrong ones included. */
  lines = 0;

  constructor(line: number, threadId: string, header: Readonly<Record<string, unknown>>) {
    this.line = line;
    this.threadId = threadId;
    this.#header = header;
    const { createdAt, updatedAt } = this.#times;
    this.#digest.add(threadId, createdAt, updatedAt, textOfValue("metadata", header));
  }

  add(line: Line, { createdAt, text }: FileMessage): void {
    if (this.count % POSITION_INTERVAL === 0)
      this.#positions.push({ offset: line.offset, number: line.number });
    this.count += 1;
    this.#digest.add(createdAt, text);
  }

  build(path: string): FileThread {
    const positions = this.#positions;
    const { count, threadId, line } = this;
    const metadata = textOfValue("metadata", this.#header);
    return {
      threadId,
      line,
      count,
      digest: this.#digest.digest(),
      ...this.#times,
      ...(metadata !== undefined && { metadata, isListed: isListed(decodeValue(metadata)) }),
      async *messages(from, signal) {
        const position = positions[Math.floor(from / POSITION_INTERVAL)];
        if (!position) return;
        let index = from - (from % POSITION_INTERVAL);
        for await (const { text } of readLines(path, signal, position)) {
          if (index >= count) return;
          if (text.trim() === "") continue;
          const message = messageOf(JSON.parse(text));
          if (typeof message === "string") return;
          if (index >= from) yield message;
          index += 1;
        }
      },
    };
  }

  get #times(): { createdAt: number; updatedAt: number; expiresAt?: number } {
    const { createdAt, updatedAt, expiresAt } = this.#header as Record<string, number>;
    return {
      createdAt: createdAt ?? 0,
      updatedAt: updatedAt ?? 0,
      ...(expiresAt !== undefined && { expiresAt }),
    };
  }
}

/** Reads a file in the CLI's own format: checks every line, and returns the position of each thread. */
export async function readThreadFile({ path, check, signal }: FileToRead): Promise<ThreadFile> {
  const threads: FileThread[] = [];
  const problems: LineProblem[] = [];
  const begun = new Map<string, number>();
  let thread: ThreadBuilder | undefined;
  let first = 0;
  let last = 0;
  let isForeign = false;
  /** Whether the current thread began with a wrong line: problems of its later lines are not reported. */
  let isLost = false;
  /** The problem of a line. */
  const take = async (line: Line): Promise<string | undefined> => {
    const value = parseObject(line);
    if (typeof value === "string") {
      isLost ||= thread === undefined;
      if (thread) thread.lines += 1;
      return value;
    }
    const foreign = line.number === first ? foreignProblem(value, "jsonl") : undefined;
    isForeign = foreign !== undefined;
    if (isForeign) return foreign;
    if (isLost && value.type !== "thread") {
      isLost = value.type === "message";
      return undefined;
    }
    if (!thread) {
      isLost = false;
      const problem =
        value.type === "thread"
          ? await headerProblem(value, check)
          : `type must be "thread", where no thread has begun`;
      isLost = problem !== undefined;
      if (problem) return problem;
      const threadId = value.threadId as string;
      const before = begun.get(threadId);
      isLost = before !== undefined;
      if (before !== undefined) return `threadId is that of line ${before}, too`;
      begun.set(threadId, line.number);
      thread = new ThreadBuilder(line.number, threadId, value);
      return undefined;
    }
    if (value.type !== "end" && value.type !== "skip") thread.lines += 1;
    switch (value.type) {
      case "message": {
        const message = messageOf(value);
        if (typeof message === "string") return message;
        const problem = await check({ message: decodeValue(message.text) });
        if (problem === undefined) thread.add(line, message);
        return problem && `message ${problem}`;
      }
      case "end": {
        const { lines, line: begin } = thread;
        if (value.messages === lines) threads.push(thread.build(path));
        thread = undefined;
        return value.messages === lines
          ? undefined
          : `messages must be ${lines}, as many as the thread of line ${begin} has: lines are missing or were added`;
      }
      case "skip":
        thread = undefined;
        return undefined;
      default:
        return `type must be "message", "end" or "skip", as the thread of line ${thread.line} has not ended`;
    }
  };
  for await (const line of readLines(path, signal)) {
    last = line.number;
    if (isBlank(line)) continue;
    first ||= line.number;
    const problem = await take(line);
    if (problem !== undefined) problems.push({ line: line.number, problem });
    if (problems.length >= MAX_PROBLEMS || isForeign) return { threads, problems };
  }
  if (thread)
    problems.push({ line: last, problem: `the file ends before the thread of line ${thread.line} does` });
  return { threads, problems };
}

/** The object of a line, or its problem. */
export function parseObject({
  text,
  problem,
}: Pick<Line, "text" | "problem">): Record<string, unknown> | string {
  // Otherwise other characters would be imported than the file has.
  if (problem !== undefined) return problem;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "not valid JSON";
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) return "not a JSON object";
  return value as Record<string, unknown>;
}

async function headerProblem(
  header: Readonly<Record<string, unknown>>,
  check: StorableCheck,
): Promise<string | undefined> {
  if (header.version !== VERSION)
    return `version must be ${VERSION}; was it written by a newer version of the CLI?`;
  const id = isId(header.threadId);
  if (id) return `threadId ${id}`;
  const { createdAt, updatedAt, expiresAt } = header;
  for (const [name, time] of Object.entries({ createdAt, updatedAt, expiresAt })) {
    if (name === "expiresAt" && time === undefined) continue;
    const problem = isRecordTime(time);
    if (problem) return `${name} ${problem}`;
  }
  if (expiresAt !== undefined && isTtl(Math.max(1, Math.ceil(Number(expiresAt) - Date.now()))))
    return "expiresAt must be at most 36,500 days from now";
  const problem = valueProblem("metadata", header);
  const metadata = problem === undefined ? textOfValue("metadata", header) : undefined;
  if (metadata === undefined) return problem;
  const refused = await check({ metadata: decodeValue(metadata) });
  return refused && `metadata ${refused}`;
}

function valueProblem(name: string, line: Readonly<Record<string, unknown>>): string | undefined {
  try {
    textOfValue(name, line);
    return undefined;
  } catch {
    return `${name} was not written by export`;
  }
}

/** The message of a line, or its problem. */
function messageOf(line: Readonly<Record<string, unknown>>): FileMessage | string {
  if (line.type !== "message") return `type must be "message"`;
  const { createdAt } = line;
  if (isRecordTime(createdAt)) return `createdAt ${isRecordTime(createdAt)}`;
  const problem = valueProblem("message", line);
  if (problem) return problem;
  const text = textOfValue("message", line);
  if (text === undefined) return "message is missing";
  const message = decodeValue(text);
  if (typeof message !== "object" || message === null || Array.isArray(message))
    return "message must be an object";
  // Messages of other types have no role, or no content.
  const isChat = "role" in message && "content" in message;
  const wrong = isChat && !isKnownMessage(message) ? chatMessageTraits.check?.(message) : undefined;
  if (wrong === undefined) return { createdAt: Number(createdAt), text };
  const { role } = message as { readonly role: unknown };
  return `message.${wrong}${wrong.startsWith("role ") ? `, not ${JSON.stringify(role)}` : ""}`;
}
