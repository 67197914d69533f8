import type { StoreFactory } from "@scrollback/store-core";
import { type Command, Option } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { haveSameFile, sqliteFilesOf } from "../context/sqlite-files.ts";
import { writeOutputFile } from "../formats/output-file.ts";
import { parseConcurrency } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { type ExportOptions, exportAsJsonl, exportAsOpenAi } from "../threads/export-thread.ts";
import { selectWork } from "../threads/select-work.ts";
import { addSelection, type SelectionOptions } from "../threads/selection.ts";
import { workThrough } from "../threads/thread-work.ts";

interface Options extends SelectionOptions {
  readonly format: "jsonl" | "openai";
  readonly output?: string;
  readonly concurrency: number;
  readonly skipCorrupt?: boolean;
}

/** `scrollback export` */
export function addExport(program: Command, context: CommandContext): void {
  addSelection(program.command("export"))
    .description("Write threads to a file that import reads, or in OpenAI's chat format. Not encrypted")
    .argument("<url>", "the URL of the backend")
    .addOption(
      new Option("--format <format>", "the format to write").choices(["jsonl", "openai"]).default("jsonl"),
    )
    .option(
      "--output <file>",
      "the file, created or replaced when the export is complete; default: standard output",
    )
    .option("--concurrency <n>", "the number of threads read at once", parseConcurrency, 8)
    .option("--skip-corrupt", "export the readable records of threads with corrupt records")
    .action((url: string, options: Options) => exportThreads(context, url, options));
}

async function exportThreads(context: CommandContext, url: string, options: Options): Promise<void> {
  const { output } = options;
  // The export would replace the database.
  if (output !== undefined && (await haveSameFile(await sqliteFilesOf(context.url(url)), [output]))) {
    const problem = "--output is a file of the database that is exported; name another file";
    throw new CommandError(exitCodes.usage, `export: ${problem}`);
  }
  await using stores = await openBackend(context, url);
  if (output === undefined) {
    return await exportTo(context, stores, options, (text) => context.output.write(text));
  }
  await writeOutputFile(output, (write) => exportTo(context, stores, options, write));
}

async function exportTo(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: Options,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const { concurrency, format, skipCorrupt = false } = options;
  const threads = await selectWork(context, stores, options, false);
  const details: ExportOptions = { stores, skipCorrupt, signal: context.signal, write: inTurn(write) };
  const one = format === "jsonl" ? exportAsJsonl : exportAsOpenAi;
  await workThrough(
    context,
    threads,
    {
      label: "exporting",
      concurrency,
      report: "notes",
      readsMessages: true,
      resume: "The export is not complete: run the same command again.",
    },
    ({ threadId }, advance) => one(threadId, details, advance),
  );
}

/** Lets one thread at a time write its lines, so that they are contiguous. */
function inTurn(write: (text: string) => Promise<void>): ExportOptions["write"] {
  let last: Promise<void> = Promise.resolve();
  return (lines) => {
    const mine = last.then(async () => {
      for await (const line of lines) await write(`${line}\n`);
    });
    // The next thread is exported even if this one failed.
    last = mine.catch(() => undefined);
    return mine;
  };
}
