import { createWriteStream } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { type Command, Option } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { fileStores } from "../formats/file-driver.ts";
import { readThreadFile } from "../formats/jsonl.ts";
import { readOpenAiFile } from "../formats/openai-file.ts";
import { storableIn } from "../formats/storable.ts";
import { type FileThread, MAX_PROBLEMS, type ThreadFile } from "../formats/thread-file.ts";
import { parseConcurrency, parseText } from "../option-values.ts";
import { CommandError, exitCodes, unreadableFile } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { printableLine } from "../output/terminal-text.ts";
import { copyThreads } from "../threads/copy-threads.ts";
import { type Application, applicationNames, importConversations } from "../threads/import-conversations.ts";

/** The begin of 1980. */
const EARLIEST_LIKELY_TIME = Date.UTC(1980);

interface ImportOptions {
  readonly format: "jsonl" | "openai";
  readonly idPrefix?: string;
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
      new Option("--format <format>", "the format of the file").choices(["jsonl", "openai"]).default("jsonl"),
    )
    .option(
      "--id-prefix <text>",
      "with openai: a thread without an id gets this prefix and its line number as id",
    )
    .addOption(
      new Option("--from <application>", "import chats from the exports of an application")
        .choices(applicationNames)
        .conflicts(["format", "idPrefix", "verify"]),
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
  file: string,
  options: ImportOptions,
): Promise<void> {
  const { format, idPrefix, concurrency, verify = false, dryRun = false, json = false } = options;
  const { signal } = context;
  await using target = await openBackend(context, url, "target");
  const folder = file === "-" ? await mkdtemp(join(tmpdir(), "scrollback-import-")) : undefined;
  try {
    const path = folder === undefined ? file : join(folder, "input");
    if (folder !== undefined)
      await pipeline(context.stdin, createWriteStream(path, { mode: 0o600 }), { signal });
    const reading = { path, check: storableIn(target), signal };
    const read = format === "jsonl" ? readThreadFile(reading) : readOpenAiFile(reading, idPrefix);
    const { threads } = checked(context, file, await read.catch((error) => unreadableFile(file, error)));
    noteSeconds(context, threads);
    if (dryRun) {
      const messages = threads.reduce((sum, { count }) => sum + count, 0);
      const sums = { threads: threads.length, messages };
      if (json) await context.output.json({ summary: sums });
      else
        await context.output.line(
          `${countOf(threads.length, "thread")}, ${countOf(messages, "message")}: all lines are right`,
        );
      return;
    }
    await target.setup();
    await copyThreads(context, fileStores(threads), target, threads, {
      label: "importing",
      done: "imported",
      resume: "Run the same command again to go on: nothing is doubled.",
      concurrency,
      verify,
      skipCorrupt: false,
      report: json ? "json" : "text",
    });
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Times in seconds are times, of January 1970. */
function noteSeconds({ output }: CommandContext, threads: readonly FileThread[]): void {
  const early = threads.filter(({ createdAt }) => createdAt < EARLIEST_LIKELY_TIME);
  const [first] = early;
  if (first)
    output.note(
      `${countOf(early.length, "thread")} before 1980, the first on line ${first.line}: times are in milliseconds; are these in seconds?`,
    );
}

/** @throws CommandError for wrong lines, after each was reported. */
function checked({ output }: CommandContext, file: string, threadFile: ThreadFile): ThreadFile {
  const { problems } = threadFile;
  if (problems.length === 0) return threadFile;
  for (const { line, problem } of problems)
    output.note(`${printableLine(file)}:${line}: ${printableLine(problem)}`);
  const count = problems.length < MAX_PROBLEMS ? countOf(problems.length, "line") : "too many lines";
  throw new CommandError(
    exitCodes.damaged,
    `${count} of ${printableLine(file)} ${problems.length === 1 ? "is" : "are"} wrong; nothing was imported`,
  );
}
