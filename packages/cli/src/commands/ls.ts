import type { ThreadInfo } from "@scrollback/store-core";
import { isUnfinishedCopy } from "@scrollback/store-core/internal";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { encodeValue } from "../formats/entry.ts";
import { parsePositive } from "../option-values.ts";
import { shownCount, shownSize, shownTime } from "../output/figures.ts";
import { type Column, formatHeadings, formatRows } from "../output/table.ts";
import { printableId } from "../output/terminal-text.ts";
import { addSelection, missing, type SelectionOptions, selectThreads } from "../threads/selection.ts";
import { unfinishedCopy } from "../threads/thread-work.ts";

interface ListOptions extends SelectionOptions {
  readonly limit?: number;
  readonly json?: boolean;
}

const columns: readonly Column[] = [
  { heading: "MESSAGES", width: 10, align: "right" },
  { heading: "SIZE", width: 8, align: "right" },
  { heading: "CREATED", width: 21 },
  { heading: "UPDATED", width: 21 },
  { heading: "EXPIRES", width: 21 },
  { heading: "THREAD" },
];
const ROWS_AT_ONCE = 100;

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
  let rows: string[][] = [];
  const flush = async () => {
    for (const line of formatRows(columns, rows)) await output.line(line);
    rows = [];
  };
  let count = 0;
  const unfinished: string[] = [];
  let isMissing = false;
  const onMissing = (threadId: string) => {
    isMissing = true;
    missing(context, threadId);
  };
  for await (const thread of selectThreads(context, stores, options, { onMissing, sizes: true })) {
    if (json) await output.json(jsonOf(thread));
    else {
      if (count === 0) await output.line(output.bold(formatHeadings(columns)));
      rows.push(rowOf(thread));
      if (rows.length === ROWS_AT_ONCE) await flush();
    }
    if (isUnfinishedCopy(thread.metadata)) unfinished.push(thread.threadId);
    count += 1;
    if (count >= limit) break;
  }
  await flush();
  if (count === 0 && !json && !isMissing) output.note("no threads");
  for (const threadId of unfinished)
    output.note(`${unfinishedCopy.outcome}: ${printableId(threadId)}: ${unfinishedCopy.problems?.[0]}`);
}

/** A thread in the output of `--json`. */
export function jsonOf({ metadata, ...thread }: ThreadInfo): Record<string, unknown> {
  return { ...thread, ...(metadata !== undefined && encodeValue("metadata", metadata)) };
}

function rowOf({ threadId, count, bytes, createdAt, updatedAt, expiresAt }: ThreadInfo): string[] {
  return [
    shownCount(count),
    bytes === undefined ? "?" : shownSize(bytes),
    shownTime(createdAt),
    shownTime(updatedAt),
    expiresAt === undefined ? "never" : shownTime(expiresAt),
    printableId(threadId),
  ];
}
