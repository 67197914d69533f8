import { once } from "node:events";
import type { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { openBackend } from "../context/open-backend.ts";
import { parsePort } from "../option-values.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

interface UiOptions {
  readonly port: number;
}

/** `scrollback ui` */
export function addUi(program: Command, context: CommandContext): void {
  program
    .command("ui")
    .description("Serve a read-only page with the threads and chats, for a browser on this machine")
    .argument("<url>", "the URL of the backend")
    .option("--port <n>", "the port of the page; 0 for any free one", parsePort, 0)
    .action((url: string, options: UiOptions) => serve(context, url, options));
}

async function serve(context: CommandContext, url: string, { port }: UiOptions): Promise<void> {
  const { blobs, output, signal } = context;
  // Other commands need neither the server nor the page.
  const { startInspector } = await import("../ui/server.ts");
  await using stores = await openBackend(context, url);
  const redact = (text: string) => context.redact(text);
  const inspector = await startInspector({ stores, blobs }, { port, redact }).catch((error: unknown) => {
    const { code, syscall } = Object(error) as NodeJS.ErrnoException;
    if (syscall !== "listen") throw error;
    throw new CommandError(exitCodes.usage, `port ${port} of 127.0.0.1 cannot be used (${code})`);
  });
  try {
    await output.line(inspector.url);
    output.note("Open this URL in a browser on this machine; it works once. Ctrl-C ends the page.");
    if (!signal.aborted) await once(signal, "abort");
  } finally {
    await inspector.close();
  }
}
