import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { listThreadsOf, storesOf } from "../formats/jsonl.ts";
import { storableIn } from "../formats/storable.ts";
import { parseConcurrency, parseText } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { copyThreads } from "../threads/copy-threads.ts";
import { type Application, applicationNames, importConversations } from "../threads/import-conversations.ts";

interface ImportOptions {
  readonly from?: Application;
  readonly owner?: string;
  readonly concurrency: number;
  readonly dryRun?: boolean;
  readonly verify?: boolean;
  readonly json?: boolean;
}

/** `scrollback import` */
export function addImport(program: Command, context: CommandContext): void {
  program
    .command("import")
    .description(
      "Import threads from a file, of which all lines are checked before the first thread is written; with --from, chats from another application",
    )
    .argument("<url>", "where the threads go")
    .argument("<files...>", "the file; - for standard input. With --from: files and folders")
    .addOption(
      new Option("--from <application>", "import chats from the exports of an application")
        .choices(applicationNames)
        .conflicts("verify"),
    )
    .option("--owner <id>", "with --from: the user whose chats they become", parseText)
    .option("--concurrency <n>", "the number of threads at once", parseConcurrency, 8)
    .option("--dry-run", "check the file and import nothing")
    .option("--verify", "compare all imported threads with the file afterwards")
    .option("--json", "one line of JSON per thread, then one with the totals")
    .action((url: string, files: string[], options: ImportOptions) =>
      importFiles(context, url, files, options),
    );
}

async function importFiles(
  context: CommandContext,
  url: string,
  files: readonly string[],
  options: ImportOptions,
): Promise<void> {
  const { from, owner, concurrency, dryRun = false, json } = options;
  if ((from === undefined) !== (owner === undefined))
    throw new CommandError(exitCodes.usage, "import: --from and --owner are given together");
  if (from === undefined || owner === undefined) {
    const [file = "", ...others] = files;
    if (others.length > 0)
      throw new CommandError(exitCodes.usage, "import: one file at a time, without --from");
    await importFile(context, url, file, options);
    return;
  }
  await using target = await openBackend(context, url, "target");
  const report = json ? "json" : "text";
  await importConversations(context, target, files, { from, owner, concurrency, dryRun, report });
}

async function importFile(
  context: CommandContext,
  url: string,
  name: string,
  { concurrency, verify = false, dryRun = false, json = false }: ImportOptions,
): Promise<void> {
  const { signal, output } = context;
  await using target = await openBackend(context, url, "target");
  const folder = name === "-" ? await mkdtemp(join(tmpdir(), "scrollback-import-")) : undefined;
  try {
    const path = folder === undefined ? name : join(folder, "input");
    if (folder !== undefined)
      await pipeline(context.stdin, createWriteStream(path, { mode: 0o600 }), { signal });
    const file = { path, name, signal };
    const threads = await listThreadsOf(file, storableIn(target));
    if (dryRun) {
      const messages = threads.reduce((sum, { count }) => sum + count, 0);
      if (json) return await output.json({ summary: { threads: threads.length, messages } });
      const sums = `${countOf(threads.length, "thread")}, ${countOf(messages, "message")}`;
      return await output.line(`${sums}: all lines are right`);
    }
    await target.setup();
    await copyThreads(context, (thread) => storesOf(file, thread), target, threads, {
      ...{ label: "importing", done: "imported", skipCorrupt: false },
      ...{ concurrency, verify, report: json ? "json" : "text" },
    });
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}
