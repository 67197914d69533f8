import { type Command, Option } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { parseDuration } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { shownDuration } from "../output/figures.ts";
import { addChange, type ChangeOptions, changeThreads } from "../threads/change-threads.ts";

interface ExpireOptions extends ChangeOptions {
  readonly ttl?: number;
  readonly never?: boolean;
}

/** `scrollback expire` */
export function addExpire(program: Command, context: CommandContext): void {
  addChange(program.command("expire"), "change")
    .description("Set or remove the expiry of threads. Asks for confirmation. Counts as a write")
    .addOption(
      new Option("--ttl <duration>", "expire after this time from now, such as 30d")
        .argParser(parseDuration)
        .conflicts("never"),
    )
    .option("--never", "remove the expiry")
    .action(async (url: string, ids: readonly string[], { ttl, never, ...options }: ExpireOptions) => {
      if (ttl === undefined && !never)
        throw new CommandError(exitCodes.usage, "expire: give --ttl with a duration such as 30d, or --never");
      const ttlMs = ttl ?? null;
      const when = ttl === undefined ? "never" : `${shownDuration(ttl)} from now`;
      await changeThreads(
        context,
        url,
        { ...options, ids },
        {
          ...{ name: "expire", label: "setting the expiry", done: "changed", takesUnread: false },
          resume: "Run the same command again to go on.",
          question: (threads) => `Let ${threads} expire ${when}?`,
          change: (stores, { threadId, head }, signal) =>
            stores.open(threadId).expire(ttlMs, { expectedRevision: head?.revision ?? null, signal }),
        },
      );
    });
}
