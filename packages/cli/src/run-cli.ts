import { StoreError } from "@scrollback/store-core";
import { CommanderError } from "commander";
import { createProgram } from "./commands/program.ts";
import { type CliOptions, CommandContext } from "./context/command-context.ts";
import { CommandError, exitCodeOf, exitCodes, Interruption } from "./output/exit-codes.ts";
import { isClosedPipe } from "./output/output.ts";
import { printableText } from "./output/terminal-text.ts";

/**
 * Runs the command line and returns its exit code. Never throws; all problems are written to `stderr`.
 *
 * @example
 * const { env, stdin, stdout, stderr } = process;
 * const { signal } = new AbortController();
 * process.exitCode = await runCli({ args: ["ls", "sqlite:chats.db"], env, stdin, stdout, stderr, signal });
 */
export async function runCli(options: CliOptions): Promise<number> {
  const context = new CommandContext(options);
  try {
    await run(context, options.args);
    await context.output.flush();
    return context.exitCode;
  } catch (thrown) {
    const error: unknown = options.signal.aborted ? options.signal.reason : thrown;
    if (isClosedPipe(error)) return context.exitCode;
    if (thrown instanceof CommanderError) return exitCodes.usage;
    const text = error instanceof Interruption ? error.message : `scrollback: ${messageOf(error)}`;
    context.output.note(printableText(context.redact(text)));
    return exitCodeOf(error);
  }
}

async function run(context: CommandContext, args: readonly string[]): Promise<void> {
  try {
    await createProgram(context).parseAsync(args, { from: "user" });
  } catch (error) {
    // Commander throws after it has shown the help or the version.
    if (!(error instanceof CommanderError) || error.exitCode !== 0) throw error;
  }
}

function messageOf(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  if (StoreError.is(error)) return `${error.code}: ${error.message}`;
  return error instanceof Error ? `${error.name}: ${error.message}` : "an unknown error";
}
