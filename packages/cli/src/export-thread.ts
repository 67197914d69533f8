import {
  isUnfinishedCopy,
  type StoreError,
  type StoreFactory,
  type ThreadPage,
} from "@scrollback/store-core";
import { skippingCorruptRecords } from "./corrupt-records.ts";
import { exitCodes } from "./exit-codes.ts";
import { endLine, messageLine, skipLine, threadLine } from "./formats/jsonl.ts";
import { toOpenAi } from "./formats/openai-chat.ts";
import { isChatMessage } from "./open-backend.ts";
import { jsonLine } from "./terminal-text.ts";
import { threadPages } from "./thread-pages.ts";
import { type ThreadOutcome, unfinishedCopy } from "./thread-work.ts";

/** Options of the export of a thread. */
export interface ExportOptions {
  readonly stores: StoreFactory<unknown>;
  /** Exports the readable records of a thread with unreadable ones. */
  readonly skipCorrupt: boolean;
  readonly signal: AbortSignal;
  /** Writes a thread's lines contiguously. */
  readonly write: (lines: Iterable<string> | AsyncIterable<string>) => Promise<void>;
}

/** Writes a thread in the CLI's own format. */
export async function exportAsJsonl(
  threadId: string,
  options: ExportOptions,
  advance: (messages: number) => void,
): Promise<ThreadOutcome> {
  const pages = new PageReader(threadId, options);
  const first = await pages.next();
  if (!first || first.revision === null) return { outcome: "gone meanwhile" };
  const { createdAt = 0, updatedAt = 0, expiresAt, metadata } = first;
  if (isUnfinishedCopy(metadata)) return unfinishedCopy;
  let messages = 0;
  async function* lines(): AsyncGenerator<string, void, undefined> {
    yield jsonLine(
      threadLine({
        threadId,
        createdAt,
        updatedAt,
        ...(expiresAt !== undefined && { expiresAt }),
        ...(metadata !== undefined && { metadata }),
      }),
    );
    let isWhole = false;
    try {
      for (let page: ThreadPage<unknown> | undefined = first; page; page = await pages.next()) {
        for (const entry of page.entries) yield jsonLine(messageLine(entry.createdAt, entry.message));
        messages += page.entries.length;
        advance(page.entries.length);
      }
      isWhole = true;
    } finally {
      yield jsonLine(isWhole ? endLine(messages) : skipLine);
    }
  }
  await options.write(lines());
  return pages.outcome("exported", messages);
}

/** Writes a thread in OpenAI's chat format. */
export async function exportAsOpenAi(
  threadId: string,
  options: ExportOptions,
  advance: (messages: number) => void,
): Promise<ThreadOutcome> {
  const pages = new PageReader(threadId, options);
  const all: unknown[] = [];
  for (let page = await pages.next(); page; page = await pages.next()) {
    if (page.revision === null) return { outcome: "gone meanwhile" };
    if (isUnfinishedCopy(page.metadata)) return unfinishedCopy;
    all.push(...page.entries.map(({ message }) => message));
    advance(page.entries.length);
  }
  const { messages, leftOut } = toOpenAi(all.filter(isChatMessage));
  const foreign = all.length - all.filter(isChatMessage).length;
  await options.write([jsonLine({ threadId, messages })]);
  const lost = [...leftOut, ...(foreign > 0 ? [["message of another type", foreign] as const] : [])];
  const outcome = pages.outcome("exported", all.length);
  return lost.length === 0
    ? outcome
    : {
        ...outcome,
        problems: [
          ...(outcome.problems ?? []),
          `left out: ${lost.map(([what, count]) => `${count} × ${what}`).join(", ")}`,
        ],
      };
}

/** Reads a thread's pages, and remembers the unreadable records. */
class PageReader {
  readonly #pages: AsyncGenerator<ThreadPage<unknown>, void, undefined>;
  readonly #skipCorrupt: boolean;
  readonly #skipped: string[] = [];

  constructor(threadId: string, { stores, signal, skipCorrupt }: ExportOptions) {
    this.#pages = threadPages(stores, threadId, signal);
    this.#skipCorrupt = skipCorrupt;
  }

  async next(): Promise<ThreadPage<unknown> | undefined> {
    const collect = (error: StoreError) => {
      this.#skipped.push(error.message);
    };
    const read = () => this.#pages.next();
    const { value } = await (this.#skipCorrupt ? skippingCorruptRecords(collect, read) : read());
    return value ?? undefined;
  }

  outcome(done: string, messages: number): ThreadOutcome {
    return this.#skipped.length === 0
      ? { outcome: done, messages }
      : { outcome: `${done} in part`, messages, problems: this.#skipped, exitCode: exitCodes.damaged };
  }
}
