import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { shownUrl } from "../context/redact.ts";

interface SetupOptions {
  readonly json?: boolean;
  readonly print?: boolean;
}

/** `scrollback setup` */
export function addSetup(program: Command, context: CommandContext): void {
  program
    .command("setup")
    .description("Create the tables and indexes of a backend and check that it can be used")
    .argument("<url>", "the backend")
    .option("--json", "the result as one line of JSON")
    .option("--print", "print the statements instead of running them, without connecting (PostgreSQL)")
    .action(async (url: string, { json = false, print = false }: SetupOptions) => {
      await using stores = await openBackend(context, url, "target");
      if (print) return await context.output.write(await stores.setupScript());
      await stores.setup();
      const { backend } = stores.settings;
      if (json) await context.output.json({ backend, ready: true });
      else await context.output.line(`${shownUrl(context.url(url))} is ready`);
    });
}
