import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { haveSameFile, sqliteFilesOf } from "../context/sqlite-files.ts";
import { parseConcurrency } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { copyThreads } from "../threads/copy-threads.ts";
import { addSelection, type SelectionOptions, selectWork } from "../threads/selection.ts";

interface CopyOptions extends SelectionOptions {
  readonly concurrency: number;
  readonly verify?: boolean;
  readonly skipCorrupt?: boolean;
  readonly json?: boolean;
}

/** `scrollback copy` */
export function addCopy(program: Command, context: CommandContext): void {
  addSelection(program.command("copy"))
    .description("Copy threads from one backend to another. Run it again to continue a copy that was stopped")
    .argument("<url>", "the URL of the backend")
    .argument("<target-url>", "where they are copied to, under the same ids")
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--verify", "compare all copied threads afterwards")
    .option("--skip-corrupt", "copy the readable records of threads with corrupt records")
    .option("--json", "one line of JSON per thread, then one with the totals")
    .action((url: string, targetUrl: string, options: CopyOptions) => copy(context, url, targetUrl, options));
}

async function copy(
  context: CommandContext,
  url: string,
  targetUrl: string,
  options: CopyOptions,
): Promise<void> {
  const { concurrency, verify = false, skipCorrupt = false, json = false } = options;
  const [from, to] = [context.url(url), context.url(targetUrl)];
  if (from === to || (await haveSameFile(await sqliteFilesOf(from), await sqliteFilesOf(to)))) {
    throw new CommandError(exitCodes.usage, "copy: source and target are the same; name another target");
  }
  await using source = await openBackend(context, url);
  await using target = await openBackend(context, targetUrl, "target");
  await target.setup();
  const threads = await selectWork(context, source, options);
  await copyThreads(context, () => source, target, threads, {
    ...{ label: "copying", done: "copied", skipCorrupt },
    ...{ concurrency, verify, report: json ? "json" : "text" },
  });
}
