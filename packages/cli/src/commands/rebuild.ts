import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { parseConcurrency } from "../option-values.ts";
import { checkEntries } from "../threads/entry-work.ts";
import { listIfMissing } from "../threads/listed-threads.ts";
import { addSelection, type SelectionOptions, selectWork } from "../threads/selection.ts";
import { workThrough } from "../threads/thread-work.ts";

interface RebuildOptions extends SelectionOptions {
  readonly concurrency: number;
  readonly json?: boolean;
}

/** `scrollback rebuild` */
export function addRebuild(program: Command, context: CommandContext): void {
  addSelection(program.command("rebuild"))
    .description("Make the lists of chats, sessions and other layers again, as their threads say")
    .argument("<url>", "the URL of the backend")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--json", "one line of JSON per listed thread, then one with the totals")
    .action((url: string, options: RebuildOptions) => rebuild(context, url, options));
}

async function rebuild(context: CommandContext, url: string, options: RebuildOptions): Promise<void> {
  const { concurrency, json = false, ...selection } = options;
  const { signal } = context;
  await using stores = await openBackend(context, url);
  // Refuses a backend without an index.
  stores.index("any");
  const threads = await selectWork(context, stores, selection);
  await workThrough(
    context,
    threads.filter(({ isListed }) => isListed),
    {
      ...{ label: "listing", concurrency, report: json ? "json" : "text" },
      resume: "Run the same command again to go on.",
    },
    async ({ threadId }) => ({
      outcome: (await listIfMissing(stores, threadId, signal)) ? "listed again" : "listed",
    }),
  );
  await checkEntries(context, stores, options, { removeLost: true });
}
