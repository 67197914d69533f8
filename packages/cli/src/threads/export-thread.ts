import type { StoreError, StoreFactory } from "@scrollback/store-core";
import { isUnfinishedCopy, ThreadReader } from "@scrollback/store-core/internal";
import { isChatMessage, skippingCorruptRecords } from "../context/open-backend.ts";
import { chatMessagesOf } from "../formats/chat-entry.ts";
import { endLine, messageLine, skipLine, threadLine } from "../formats/jsonl.ts";
import { toOpenAi } from "../formats/openai-chat.ts";
import { layerOf } from "../layers.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { jsonLine } from "../output/terminal-text.ts";
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
  const pages = await PageReader.begin(threadId, options);
  const { revision, createdAt = 0, updatedAt = 0, expiresAt, metadata } = pages.newest;
  if (revision === null) return { outcome: "gone meanwhile" };
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
      for (let page = await pages.next(); page; page = await pages.next()) {
        for (const entry of page) yield jsonLine(messageLine(entry.createdAt, entry.message));
        messages += page.length;
        advance(page.length);
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
  const pages = await PageReader.begin(threadId, options);
  const { revision, metadata } = pages.newest;
  if (revision === null) return { outcome: "gone meanwhile" };
  if (isUnfinishedCopy(metadata)) return unfinishedCopy;
  const all: unknown[] = [];
  for (let page = await pages.next(); page; page = await pages.next()) {
    all.push(...page.map(({ message }) => message));
    advance(page.length);
  }
  const known = all.filter(isChatMessage).map(chatMessagesOf);
  const { messages, leftOut } = toOpenAi(known.flatMap((made) => made ?? []));
  const others = {
    "value of a layer": known.filter((made) => made === undefined).length,
    "message of another type": all.length - known.length,
  };
  const lost = [...leftOut, ...Object.entries(others).filter(([, count]) => count > 0)];
  const omitted = lost.map(([what, count]) => `${count} × ${what}`).join(", ");
  // A list or a head of a layer has no message, and would be an empty conversation.
  if (messages.length === 0 && (all.length > 0 || layerOf(threadId)))
    return pages.outcome("left out", 0, [`it has no message of this format${omitted && `, but ${omitted}`}`]);
  await options.write([jsonLine({ threadId, messages })]);
  return pages.outcome("exported", all.length, lost.length === 0 ? [] : [`left out: ${omitted}`]);
}

/** Makes a call, with or without unreadable records. */
type Reading = <T>(call: () => Promise<T>) => Promise<T>;
type Pages = ReturnType<ThreadReader<unknown>["pages"]>;

/** Reads a thread's pages, and remembers the unreadable records. */
class PageReader {
  readonly newest: ThreadReader<unknown>["newest"];
  readonly #pages: Pages;
  readonly #reading: Reading;
  readonly #skipped: ReadonlySet<string>;

  private constructor(reader: ThreadReader<unknown>, reading: Reading, skipped: ReadonlySet<string>) {
    this.newest = reader.newest;
    this.#pages = reader.pages();
    this.#reading = reading;
    this.#skipped = skipped;
  }

  static async begin(threadId: string, { stores, signal, skipCorrupt }: ExportOptions): Promise<PageReader> {
    const skipped = new Set<string>();
    const collect = (error: StoreError) => {
      skipped.add(error.message);
    };
    const reading: Reading = (call) => (skipCorrupt ? skippingCorruptRecords(collect, call) : call());
    const reader = await reading(() => ThreadReader.begin(stores.open(threadId), { signal }));
    return new PageReader(reader, reading, skipped);
  }

  async next(): Promise<readonly ThreadReader<unknown>["newest"]["entries"][number][] | undefined> {
    const { value } = await this.#reading(() => this.#pages.next());
    return value ?? undefined;
  }

  outcome(done: string, messages: number, notes: readonly string[] = []): ThreadOutcome {
    const problems = [...this.#skipped, ...notes];
    const outcome = { outcome: done, messages, ...(problems.length > 0 && { problems }) };
    return this.#skipped.size === 0
      ? outcome
      : { ...outcome, outcome: `${done} in part`, exitCode: exitCodes.damaged };
  }
}
