import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { countOf, shownCount, shownSize, shownTime } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import { FileFigures } from "../threads/file-figures.ts";
import { entriesIn, isList } from "../threads/listed-threads.ts";
import { addSelection, type SelectionOptions, selectThreads } from "../threads/selection.ts";

interface StatsOptions extends SelectionOptions {
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;
/** Threads by the days since they were written to. */
const ages = [
  ["day", 1],
  ["week", 7],
  ["month", 30],
  ["year", 365],
] as const;
const LARGEST = 5;
const LABEL_WIDTH = 24;

/** `scrollback stats` */
export function addStats(program: Command, context: CommandContext): void {
  addSelection(program.command("stats"))
    .description(
      "Count threads, messages, bytes, files and entries in lists; show ages and the largest threads",
    )
    .argument("<url>", "the URL of the backend")
    .option("--json", "the figures as one line of JSON")
    .action((url: string, options: StatsOptions) => stats(context, url, options));
}

async function stats(context: CommandContext, url: string, options: StatsOptions): Promise<void> {
  const { output, signal } = context;
  await using stores = await openBackend(context, url);
  const now = Date.now();
  let [threads, messages, bytes, expiring] = [0, 0, 0, 0];
  let [oldest, newest] = [Number.POSITIVE_INFINITY, 0];
  const updatedWithin = { day: 0, week: 0, month: 0, year: 0, older: 0 };
  let largest: { readonly threadId: string; readonly count: number }[] = [];
  for await (const thread of selectThreads(context, stores, options, {}, { sizes: true })) {
    const { threadId, count, createdAt, updatedAt } = thread;
    threads += 1;
    messages += count;
    // Unknown, if one is.
    bytes += thread.bytes ?? Number.NaN;
    if (thread.expiresAt !== undefined) expiring += 1;
    oldest = Math.min(oldest, createdAt);
    newest = Math.max(newest, updatedAt);
    const [age] = ages.find(([, days]) => now - updatedAt <= days * DAY_MS) ?? ["older"];
    updatedWithin[age] += 1;
    largest = [...largest, { threadId, count }]
      .sort((one, other) => other.count - one.count)
      .slice(0, LARGEST);
  }
  const { prefix = "" } = options;
  const lists = new Set<string>();
  let entries = 0;
  const figures = new FileFigures(prefix);
  if (options.idsFrom === undefined)
    for await (const found of entriesIn(stores, "", signal)) {
      figures.add(found);
      if (!isList(found.index) || !(prefix === "" || found.threadId?.startsWith(prefix))) continue;
      lists.add(found.index);
      entries += 1;
    }
  const { files, bytes: fileBytes, elsewhere } = figures.sums();
  if (options.json)
    return await output.json({
      ...{ threads, messages, ...(!Number.isNaN(bytes) && { bytes }), expiring },
      ...(files > 0 && { files, fileBytes }),
      ...(elsewhere > 0 && { filesElsewhere: elsewhere }),
      ...(entries > 0 && { indexes: lists.size, entries }),
      ...(threads > 0 && { oldestCreatedAt: oldest, newestUpdatedAt: newest }),
      ...{ updatedWithin, largest },
    });
  const rows: [label: string, value: string][] = [
    ["threads", shownCount(threads)],
    ["messages", shownCount(messages)],
    ["size", Number.isNaN(bytes) ? "?" : shownSize(bytes)],
    ["threads that expire", shownCount(expiring)],
  ];
  if (files > 0) rows.push(["files", shownCount(files)], ["size of files", shownSize(fileBytes)]);
  if (elsewhere > 0) rows.push(["files elsewhere", shownCount(elsewhere)]);
  if (entries > 0) rows.push(["lists", shownCount(lists.size)], ["entries in lists", shownCount(entries)]);
  if (threads > 0) rows.push(["oldest created", shownTime(oldest)], ["newest updated", shownTime(newest)]);
  for (const [age, count] of Object.entries(updatedWithin))
    rows.push([age === "older" ? "updated longer ago" : `updated within a ${age}`, shownCount(count)]);
  for (const { threadId, count } of largest)
    rows.push(["largest", `${countOf(count, "message")}: ${printableId(threadId)}`]);
  for (const [label, value] of rows) await output.line(`${label.padEnd(LABEL_WIDTH)} ${value}`);
}
