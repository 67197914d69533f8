import { Blobs } from "@scrollback/collections/internal";
import { chatMessageTraits, type StoreFactory } from "@scrollback/store-core";
import { isUnfinishedCopy, ThreadReader } from "@scrollback/store-core/internal";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { haveSameFile, sqliteFilesOf } from "../context/sqlite-files.ts";
import { linesOfThread } from "../formats/jsonl.ts";
import { writeOutputFile } from "../formats/output-file.ts";
import { parseConcurrency } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { addSelection, type SelectionOptions, selectWork } from "../threads/selection.ts";
import { unfinishedCopy, withoutCorruptRecords, workThrough } from "../threads/thread-work.ts";

interface Options extends SelectionOptions {
  readonly output?: string;
  readonly concurrency: number;
  readonly skipCorrupt?: boolean;
}

/** `scrollback export` */
export function addExport(program: Command, context: CommandContext): void {
  addSelection(program.command("export"))
    .description("Write threads to a file that import reads. Not encrypted")
    .argument("<url>", "the URL of the backend")
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
  if (output === undefined)
    return await exportTo(context, stores, options, (text) => context.output.write(text));
  await writeOutputFile(output, (write) => exportTo(context, stores, options, write));
}

async function exportTo(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  options: Options,
  write: (text: string) => Promise<void>,
): Promise<void> {
  const { concurrency, skipCorrupt = false } = options;
  const { signal } = context;
  const threads = await selectWork(context, stores, options);
  const blobs = new Blobs(stores.withTraits(chatMessageTraits), { elsewhere: context.blobs });
  let turn: Promise<unknown> = Promise.resolve();
  /** One thread at a time writes its lines, so that they are contiguous. */
  const writeInTurn = async (lines: AsyncIterable<string>): Promise<void> => {
    const mine = turn.then(async () => {
      for await (const line of lines) {
        await write(`${line}\n`);
      }
    });
    // The next thread is exported even if this one failed.
    turn = mine.catch(() => undefined);
    await mine;
  };
  await workThrough(
    context,
    threads,
    {
      ...{ label: "exporting", concurrency, report: "notes" },
      resume: "The export is not complete: run the same command again.",
    },
    ({ threadId }) =>
      withoutCorruptRecords(skipCorrupt, async () => {
        const reader = await ThreadReader.begin(stores.open(threadId), { signal });
        const { revision, metadata } = reader.newest;
        if (revision === null) return { outcome: "gone meanwhile" };
        if (isUnfinishedCopy(metadata)) return unfinishedCopy;
        let messages = 0;
        await writeInTurn(linesOfThread(threadId, reader, blobs, () => messages++));
        return { outcome: "exported", messages };
      }),
  );
}
