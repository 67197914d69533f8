import { type Command, Option } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { parseConcurrency, parseDuration } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { shownDuration } from "../output/figures.ts";
import { changeThreads } from "../threads/change-threads.ts";
import { addSelection, type SelectionOptions } from "../threads/selection.ts";

/** The maximum that stores accept. */
const MAX_TTL_MS = 36_500 * 86_400_000;

interface ExpireOptions extends SelectionOptions {
  readonly ttl?: number;
  readonly never?: boolean;
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly concurrency: number;
  readonly json?: boolean;
}

/** `scrollback expire` */
export function addExpire(program: Command, context: CommandContext): void {
  addSelection(program.command("expire"))
    .description("Set or remove the expiry of threads. Asks for confirmation. Counts as a write")
    .argument("<url>", "the URL of the backend")
    .argument("[thread-ids...]", "the ids of the threads")
    .addOption(
      new Option("--ttl <duration>", "expire after this time from now, such as 30d")
        .argParser(parseDuration)
        .conflicts("never"),
    )
    .option("--never", "remove the expiry")
    .option("--all", "select all threads; required without another selection")
    .option("--dry-run", "list the selected threads and change nothing")
    .option("--yes", "do not ask for confirmation")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "one line of JSON per thread, then one with the totals")
    .action((url: string, ids: readonly string[], options: ExpireOptions) => {
      const given = [...ids, ...(options.id ?? [])];
      const selection = given.length > 0 ? { ...options, id: given } : options;
      const ttlMs = ttlOf(options);
      const when = ttlMs === null ? "never" : `${shownDuration(ttlMs)} from now`;
      return changeThreads(context, url, selection, {
        label: "setting the expiry",
        done: "changed",
        question: (threads) => `Let ${threads} expire ${when}?`,
        resume: "Run the same command again to go on.",
        change: async (stores, { threadId, revision }, signal) => {
          await stores.open(threadId).expire(ttlMs, { expectedRevision: revision, signal });
        },
      });
    });
}

function ttlOf({ ttl, never }: ExpireOptions): number | null {
  if (never) return null;
  if (ttl === undefined || ttl === 0) {
    throw new CommandError(exitCodes.usage, "expire: give --ttl with a duration such as 30d, or --never");
  }
  if (ttl > MAX_TTL_MS) throw new CommandError(exitCodes.usage, "expire: --ttl must be at most 36500d");
  return ttl;
}
