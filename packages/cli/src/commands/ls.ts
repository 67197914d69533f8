import type { ThreadInfo } from "@scrollback/store-core";
import { isUnfinishedCopy } from "@scrollback/store-core/internal";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { encodeValue } from "../formats/entry.ts";
import { parsePositive } from "../option-values.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { shownCount, shownSize, shownTime } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import {
  addSelection,
  type SelectedThread,
  type SelectionOptions,
  selectThreads,
} from "../threads/selection.ts";
import { unfinishedCopy } from "../threads/thread-work.ts";

interface ListOptions extends SelectionOptions {
  readonly limit?: number;
  readonly json?: boolean;
}

/** The columns and their widths: negative for text, which is aligned to the left; 0 for the last one. */
const columns = { MESSAGES: 9, SIZE: 8, CREATED: -21, UPDATED: -21, EXPIRES: -21, THREAD: 0 };

/** `scrollback ls` */
export function addLs(program: Command, context: CommandContext): void {
  addSelection(program.command("ls").alias("list"))
    .description("List threads, in no particular order")
    .argument("<url>", "the URL of the backend")
    .option("--limit <n>", "the maximum number of threads", parsePositive)
    .option("--json", "one line of JSON per thread")
    .action((url: string, options: ListOptions) => list(context, url, options));
}

async function list(context: CommandContext, url: string, options: ListOptions): Promise<void> {
  const { output } = context;
  const { limit = Number.POSITIVE_INFINITY, json = false } = options;
  await using stores = await openBackend(context, url);
  let count = 0;
  const unfinished: string[] = [];
  for await (const thread of selectThreads(context, stores, options, {}, { sizes: true })) {
    if (json) await output.json(jsonOf(thread));
    else {
      if (count === 0) await output.line(output.style("bold", row(Object.keys(columns))));
      await output.line(rowOf(thread));
    }
    if (isUnfinishedCopy(thread.metadata)) unfinished.push(thread.threadId);
    count += 1;
    if (count >= limit) break;
  }
  if (count === 0 && !json && context.exitCode === exitCodes.done) output.note("no threads");
  for (const threadId of unfinished)
    output.note(`${unfinishedCopy.outcome}: ${printableId(threadId)}: ${unfinishedCopy.problems?.[0]}`);
}

/** A thread in the output of `--json`. */
function jsonOf({ metadata, asOf: _, ...thread }: SelectedThread): Record<string, unknown> {
  return { ...thread, ...(metadata !== undefined && encodeValue("metadata", metadata)) };
}

function rowOf({ threadId, count, bytes, createdAt, updatedAt, expiresAt }: ThreadInfo): string {
  return row([
    shownCount(count),
    bytes === undefined ? "?" : shownSize(bytes),
    shownTime(createdAt),
    shownTime(updatedAt),
    expiresAt === undefined ? "never" : shownTime(expiresAt),
    printableId(threadId),
  ]);
}

/** A row in columns of fixed widths, so that later rows align with earlier ones. */
function row(cells: readonly string[]): string {
  const widths = Object.values(columns);
  return cells.map((cell, index) => padded(cell, widths[index] ?? 0)).join(" ");
}

function padded(cell: string, width: number): string {
  return width < 0 ? cell.padEnd(-width) : cell.padStart(width);
}
