import { Command } from "commander";
import type { CommandContext } from "../context/command-context.ts";
import { printableText } from "../output/terminal-text.ts";
import { version } from "../version.ts";
import { addCopy } from "./copy.ts";
import { addExpire } from "./expire.ts";
import { addExport } from "./export.ts";
import { addImport } from "./import.ts";
import { addLs } from "./ls.ts";
import { addRebuild } from "./rebuild.ts";
import { addRm } from "./rm.ts";
import { addSetup } from "./setup.ts";
import { addShow } from "./show.ts";
import { addStats } from "./stats.ts";
import { addUi } from "./ui.ts";
import { addVerify } from "./verify.ts";

const epilogue = `
A URL is one of sqlite:chats.db, redis://…, rediss://…, mongodb://…, mongodb+srv://…, dynamodb://table, libsql:chats.db,
libsql://…, postgres://…, postgresql://…, memory: (an empty store that ends with the command), or env:NAME for the value of an environment
variable, which keeps passwords off the command line. Tables, collections and keys have their default names.

Environment:
  SCROLLBACK_CODEC   json (the default), gzip, aes-gcm or aes-gcm+gzip
  SCROLLBACK_KEYS    for aes-gcm: ID:BASE64 of 32 bytes, the newest first, separated by commas
  SCROLLBACK_TARGET_CODEC, SCROLLBACK_TARGET_KEYS   the same for what copy and import write to

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 damaged or different, 5 conflict, 6 unavailable, 130 Ctrl-C, 141 closed pipe

Manual: https://github.com/scrollback-js/scrollback/blob/main/docs/reference/cli.md`;

/** The command line: all commands with their options. */
export function createProgram(context: CommandContext): Command {
  const { output } = context;
  const program = new Command("scrollback")
    .description("Manage the threads of any Scrollback store")
    .version(version)
    .addHelpText("after", epilogue)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => output.text(text),
      writeErr: (text) => output.note(text.trimEnd()),
      // An invalid argument may be a URL with a password.
      outputError: (text, write) => write(printableText(context.redact(text))),
    });
  const all = [
    addLs,
    addShow,
    addExport,
    addImport,
    addCopy,
    addRm,
    addExpire,
    addStats,
    addVerify,
    addRebuild,
    addSetup,
    addUi,
  ];
  for (const add of all) add(program, context);
  for (const command of program.commands) command.showHelpAfterError("Add --help for the options.");
  return program;
}
