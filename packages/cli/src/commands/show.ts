import { partThreads } from "@scrollback/collections/internal";
import type { ThreadPage } from "@scrollback/store-core";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend, skippingCorruptRecords } from "../context/open-backend.ts";
import { encodeValue } from "../formats/entry.ts";
import { transcriptOf } from "../formats/transcript.ts";
import { parsePositive } from "../option-values.ts";
import { exitCodes } from "../output/exit-codes.ts";
import { countOf, shownTime } from "../output/figures.ts";
import { printableId, printableLine, printableValue } from "../output/terminal-text.ts";
import { missing } from "../threads/selection.ts";

interface ShowOptions {
  readonly limit: number;
  readonly before?: string;
  readonly json?: boolean;
}

/** `scrollback show` */
export function addShow(program: Command, context: CommandContext): void {
  program
    .command("show")
    .description("Show the newest messages of a thread, in their order")
    .argument("<url>", "where the thread is")
    .argument("<thread-id>", "which thread")
    .option("--limit <n>", "the number of messages on a page", parsePositive, 20)
    .option("--before <cursor>", "show the page before this cursor, which the previous page printed")
    .option("--json", "the page as one line of JSON")
    .action((url: string, threadId: string, options: ShowOptions) => show(context, url, threadId, options));
}

async function show(
  context: CommandContext,
  url: string,
  threadId: string,
  { limit, before, json = false }: ShowOptions,
): Promise<void> {
  const { output, signal } = context;
  await using stores = await openBackend(context, url);
  const corrupt: string[] = [];
  const page = await skippingCorruptRecords(
    (error) => corrupt.push(error.message),
    () => stores.open(threadId).read({ limit, signal, ...(before !== undefined && { before }) }),
  );
  if (page.revision === null) return missing(context, threadId);
  if (json) await output.json(jsonOf(threadId, page));
  else {
    await output.line(headingOf(threadId, page));
    for (const entry of page.entries) await output.line(`\n${transcriptOf(entry, output)}`);
    if (page.older !== undefined) output.note(`\nolder messages: add --before ${page.older}`);
  }
  for (const problem of corrupt) output.note(`corrupt: ${printableLine(context.redact(problem))}`);
  if (corrupt.length > 0) context.fail(exitCodes.damaged);
}

function headingOf(threadId: string, page: ThreadPage<unknown>): string {
  const { count, createdAt = 0, updatedAt = 0, expiresAt, metadata } = page;
  const facts = [
    countOf(count, "message"),
    `created ${shownTime(createdAt)}`,
    `updated ${shownTime(updatedAt)}`,
    ...(expiresAt === undefined ? [] : [`expires ${shownTime(expiresAt)}`]),
  ];
  const lines = [printableId(threadId), facts.join(", ")];
  for (const part of partThreads(threadId, metadata)) lines.push(`has the part ${printableId(part)}`);
  if (metadata !== undefined) lines.push(`metadata: ${printableValue(metadata)}`);
  return lines.join("\n");
}

function jsonOf(threadId: string, page: ThreadPage<unknown>): Record<string, unknown> {
  const { entries, metadata, ...rest } = page;
  return {
    threadId,
    ...rest,
    ...(metadata !== undefined && encodeValue("metadata", metadata)),
    messages: entries.map(({ sequence, createdAt, message }) => ({
      sequence,
      createdAt,
      ...encodeValue("message", message),
    })),
  };
}
