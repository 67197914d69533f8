import type { ListedEntry } from "@scrollback/collections/internal";
import type { ThreadInfo } from "@scrollback/store-core";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { shownCount, shownSize, shownTime } from "../output/figures.ts";
import { formatHeadings, formatRows } from "../output/table.ts";
import { printableId } from "../output/terminal-text.ts";
import { entriesIn } from "../threads/listed-threads.ts";
import { addSelection, prefixAlone, type SelectionOptions, selectThreads } from "../threads/selection.ts";

interface StatsOptions extends SelectionOptions {
  readonly json?: boolean;
}

const DAY_MS = 86_400_000;
/** Threads by the days since they were written to. */
const ages = [
  { name: "day", days: 1 },
  { name: "week", days: 7 },
  { name: "month", days: 30 },
  { name: "year", days: 365 },
  { name: "older", days: Number.POSITIVE_INFINITY },
] as const;
const LARGEST = 5;
const columns = [{ heading: "", width: 24 }, { heading: "" }];

/** `scrollback stats` */
export function addStats(program: Command, context: CommandContext): void {
  addSelection(program.command("stats"))
    .description("Count threads, messages, bytes and entries in lists; show ages and the largest threads")
    .argument("<url>", "the URL of the backend")
    .option("--json", "the figures as one line of JSON")
    .action((url: string, options: StatsOptions) => stats(context, url, options));
}

async function stats(context: CommandContext, url: string, options: StatsOptions): Promise<void> {
  const { output } = context;
  await using stores = await openBackend(context, url);
  const figures = new Figures();
  for await (const thread of selectThreads(context, stores, options, { sizes: true })) figures.add(thread);
  const prefix = prefixAlone(options);
  if (prefix !== undefined)
    for await (const entry of entriesIn(stores, prefix, context.signal)) figures.addEntry(entry);
  if (options.json) return await output.json(figures.toJson());
  for (const line of formatRows(columns, figures.toRows())) await output.line(line);
  const { largest } = figures;
  if (largest.length === 0) return;
  const columnsOfLargest = [
    { heading: "MESSAGES", width: 10, align: "right" },
    { heading: "LARGEST THREADS" },
  ] as const;
  await output.line("");
  await output.line(output.bold(formatHeadings(columnsOfLargest)));
  const rows = largest.map(({ threadId, count }) => [shownCount(count), printableId(threadId)]);
  for (const line of formatRows(columnsOfLargest, rows)) await output.line(line);
}

class Figures {
  readonly #now = Date.now();
  readonly #byAge = new Map<string, number>(ages.map(({ name }) => [name, 0]));
  largest: ThreadInfo[] = [];
  #threads = 0;
  #messages = 0;
  #bytes: number | undefined = 0;
  #expiring = 0;
  readonly #lists = new Set<string>();
  #entries = 0;
  #oldest = Number.POSITIVE_INFINITY;
  #newest = Number.NEGATIVE_INFINITY;

  add(thread: ThreadInfo): void {
    const { count, bytes, createdAt, updatedAt, expiresAt } = thread;
    this.#threads += 1;
    this.#messages += count;
    this.#bytes = bytes === undefined || this.#bytes === undefined ? undefined : this.#bytes + bytes;
    if (expiresAt !== undefined) this.#expiring += 1;
    this.#oldest = Math.min(this.#oldest, createdAt);
    this.#newest = Math.max(this.#newest, updatedAt);
    const age = (this.#now - updatedAt) / DAY_MS;
    const name = ages.find(({ days }) => age <= days)?.name ?? "older";
    this.#byAge.set(name, (this.#byAge.get(name) ?? 0) + 1);
    const least = this.largest.at(-1);
    if (this.largest.length < LARGEST || (least && count > least.count)) {
      this.largest = [...this.largest, thread]
        .sort((one, other) => other.count - one.count)
        .slice(0, LARGEST);
    }
  }

  addEntry({ index }: ListedEntry): void {
    this.#lists.add(index);
    this.#entries += 1;
  }

  toJson(): Record<string, unknown> {
    return {
      threads: this.#threads,
      messages: this.#messages,
      ...(this.#bytes !== undefined && { bytes: this.#bytes }),
      expiring: this.#expiring,
      ...(this.#entries > 0 && { indexes: this.#lists.size, entries: this.#entries }),
      ...(this.#threads > 0 && { oldestCreatedAt: this.#oldest, newestUpdatedAt: this.#newest }),
      updatedWithin: Object.fromEntries(this.#byAge),
      largest: this.largest.map(({ threadId, count }) => ({ threadId, count })),
    };
  }

  toRows(): string[][] {
    const rows = [
      ["threads", shownCount(this.#threads)],
      ["messages", shownCount(this.#messages)],
      ["size", this.#bytes === undefined ? "?" : shownSize(this.#bytes)],
      ["threads that expire", shownCount(this.#expiring)],
    ];
    if (this.#entries > 0)
      rows.push(["lists", shownCount(this.#lists.size)], ["entries in lists", shownCount(this.#entries)]);
    if (this.#threads > 0) {
      rows.push(["oldest created", shownTime(this.#oldest)], ["newest updated", shownTime(this.#newest)]);
    }
    for (const [name, count] of this.#byAge) {
      rows.push([name === "older" ? "updated longer ago" : `updated within a ${name}`, shownCount(count)]);
    }
    return rows;
  }
}
