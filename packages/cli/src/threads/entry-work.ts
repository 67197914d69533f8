import { isLost } from "@scrollback/collections/internal";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { pMapIterable } from "p-map";
import type { CommandContext } from "../context/command-context.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { shownCount } from "../output/figures.ts";
import { printableId, printableLine } from "../output/terminal-text.ts";
import { entriesIn, isList } from "./listed-threads.ts";
import type { SelectionOptions } from "./selection.ts";

/** Options of {@link checkEntries}. */
export interface EntryOptions extends SelectionOptions {
  readonly concurrency: number;
  readonly json?: boolean;
}

type ListedEntry = Parameters<typeof isLost>[1];

interface Checked {
  readonly outcome: string;
  readonly problem?: string;
}

/**
 * Checks the entries in lists against their threads, unless threads are selected by their ids, and reports those that are wrong
 * and the sums.
 *
 * @param removeLost removes entries that no thread names, instead of reporting them.
 */
export async function checkEntries(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  { concurrency, json = false, idsFrom, prefix = "" }: EntryOptions,
  { removeLost = false } = {},
): Promise<void> {
  const { output, signal } = context;
  if (idsFrom !== undefined) return;
  const sums = new Map<string, number>();
  const check = async (found: ListedEntry) => ({
    found,
    ...(await checkOne(stores, found, removeLost, signal)),
  });
  try {
    const checked = pMapIterable(entriesIn(stores, prefix, signal), check, { concurrency });
    for await (const { found, outcome, problem } of checked) {
      if (problem === undefined && !isList(found.index)) continue;
      sums.set(outcome, (sums.get(outcome) ?? 0) + 1);
      if (problem !== undefined) await tell(context, json, found, outcome, problem);
    }
  } catch (error) {
    // The server has lost a part of an index. The next reader finds it empty.
    if (!StoreError.is(error, "CORRUPT")) throw error;
    output.note(`corrupt: ${printableLine(context.redact(error.message))}`);
    context.fail(exitCodes.damaged);
  }
  if (sums.size === 0) return;
  if (json) return await output.json({ entries: Object.fromEntries(sums) });
  const outcomes = [...sums].map(([outcome, count]) => `${shownCount(count)} ${outcome}`);
  await output.line(`entries in lists: ${outcomes.join(", ")}`);
}

async function checkOne(
  stores: StoreFactory<unknown>,
  found: ListedEntry,
  removeLost: boolean,
  signal: AbortSignal,
): Promise<Checked> {
  const { index, entry } = found;
  if (entry.problem) return { outcome: "unreadable", problem: entry.problem.message };
  if (!(await isLost(stores, found, { signal }))) return { outcome: "right" };
  if (!removeLost) return { outcome: "lost", problem: "no thread names it; rebuild removes it" };
  await stores.index(index).remove({ key: entry.key, id: entry.id }, { signal });
  return { outcome: "removed" };
}

async function tell(
  context: CommandContext,
  json: boolean,
  { index, entry: { key }, threadId }: ListedEntry,
  outcome: string,
  problem: string,
): Promise<void> {
  context.fail(exitCodes.damaged);
  const thread = threadId !== undefined && { threadId };
  if (json) return await context.output.json({ index, key, ...thread, outcome, problems: [problem] });
  const whose = printableId(threadId ?? key);
  context.output.note(
    `${outcome}: the entry of ${whose} in ${printableId(index)}: ${printableLine(context.redact(problem))}`,
  );
}
