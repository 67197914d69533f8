import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RedisClient } from "./options.ts";

/** A script as its file has it: what it takes and returns stands at its top. */
export interface Script {
  readonly lua: string;
  /** The command under which a client knows it: of the text, so that two versions of this package share a client. */
  readonly command: string;
}

function load(file: string): Script {
  const lua = readFileSync(new URL(`./scripts/${file}.lua`, import.meta.url), "utf8");
  const digest = createHash("sha1").update(lua).digest("hex").slice(0, 12);
  return { lua, command: `scrollback:${file}:${digest}` };
}

export const commitScript = load("commit");
export const readRangeScript = load("read-range");

/** Runs a script with its two keys and arguments in one round trip. Values are Redis' own: strings, null, lists. */
export type RunScript = (messages: string, meta: string, values: readonly string[]) => Promise<unknown>;

/**
 * Makes a script a command of the client, which sends the text on a connection's first use, then its digest, and the
 * text again where the server has forgotten it.
 */
export function defineScript(client: RedisClient, { command, lua }: Script): RunScript {
  client.defineCommand(command, { numberOfKeys: 2, lua });
  // One array, not one parameter a value: a call with a hundred thousand parameters overflows the stack.
  const run: (values: readonly string[]) => Promise<unknown> = Reflect.get(client, command).bind(client);
  return (messages, meta, values) => run([messages, meta, ...values]);
}
