import { stat } from "node:fs/promises";
import { isId } from "@scrollback/store-core/driver";
import { layerOf } from "../layers.ts";
import { decodeValue, encodeText } from "./entry.ts";
import { parseObject } from "./jsonl.ts";
import { foreignProblem, isBlank, type Line, readLines } from "./lines.ts";
import { fromOpenAi, OpenAiFormatError } from "./openai-chat.ts";
import {
  ContentDigest,
  type FileThread,
  type FileToRead,
  type LineProblem,
  MAX_PROBLEMS,
  type ThreadFile,
} from "./thread-file.ts";

/**
 * Reads a file of OpenAI's chat format: on each line an object with `messages`, and a `threadId` unless ids are made of a
 * prefix and the line's number. Checks every line. Times are those of the file.
 */
export async function readOpenAiFile(
  { path, check, signal }: FileToRead,
  idPrefix: string | undefined,
): Promise<ThreadFile> {
  // A file may be dated before 1970.
  const writtenAt = Math.max(0, Math.floor((await stat(path)).mtimeMs));
  const threads: FileThread[] = [];
  const problems: LineProblem[] = [];
  const begun = new Map<string, number>();
  let first = 0;
  let isForeign = false;
  const take = async (line: Line): Promise<string | undefined> => {
    const value = parseObject(line);
    if (typeof value === "string") return value;
    const foreign = line.number === first ? foreignProblem(value, "openai") : undefined;
    isForeign = foreign !== undefined;
    if (isForeign) return foreign;
    if (value.threadId === undefined && idPrefix === undefined) {
      return "threadId is missing; give --id-prefix to name threads by their lines' numbers";
    }
    const threadId = value.threadId ?? `${idPrefix}${line.number}`;
    const problem = isId(threadId);
    if (problem) return `threadId ${problem}`;
    const layer = layerOf(threadId as string);
    if (layer)
      return `threadId must not begin with "${layer}": such threads hold what their layer wrote; import under another id`;
    const before = begun.get(threadId as string);
    if (before !== undefined) return `threadId is that of line ${before}, too`;
    begun.set(threadId as string, line.number);
    try {
      const texts = messageTexts(value);
      for (const [index, text] of texts.entries()) {
        const refused = await check({ message: decodeValue(text) });
        if (refused !== undefined) return `messages[${index}] ${refused}`;
      }
      threads.push(threadOf(path, threadId as string, line, texts, writtenAt));
      return undefined;
    } catch (error) {
      if (error instanceof OpenAiFormatError) return error.message;
      throw error;
    }
  };
  for await (const line of readLines(path, signal)) {
    if (isBlank(line)) continue;
    first ||= line.number;
    const problem = await take(line);
    if (problem !== undefined) problems.push({ line: line.number, problem });
    if (problems.length >= MAX_PROBLEMS || isForeign) break;
  }
  return { threads, problems };
}

function messageTexts(value: Readonly<Record<string, unknown>>): string[] {
  return fromOpenAi(value.messages).map(encodeText);
}

function threadOf(
  path: string,
  threadId: string,
  line: Line,
  texts: readonly string[],
  writtenAt: number,
): FileThread {
  const digest = new ContentDigest();
  digest.add(threadId, ...texts);
  const { offset, number } = line;
  return {
    threadId,
    line: number,
    count: texts.length,
    createdAt: writtenAt,
    updatedAt: writtenAt,
    digest: digest.digest(),
    async *messages(from, signal) {
      for await (const { text } of readLines(path, signal, { offset, number })) {
        const all = messageTexts(JSON.parse(text));
        yield* all.slice(from).map((one) => ({ createdAt: writtenAt, text: one }));
        return;
      }
    },
  };
}
