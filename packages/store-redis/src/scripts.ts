import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RedisClient } from "./options.ts";

/** A script as its file has it: what it takes and returns stands at its top. */
export interface Script {
  readonly lua: string;
  /** The SHA-1 digest of the text, under which a server caches it. */
  readonly digest: string;
}

function load(file: string): Script {
  const lua = readFileSync(new URL(`./scripts/${file}.lua`, import.meta.url), "utf8");
  return { lua, digest: createHash("sha1").update(lua).digest("hex") };
}

export const commitScript = load("commit");
export const deleteScript = load("delete");
export const readRangeScript = load("read-range");

/**
 * Runs a script with its keys and arguments: by its digest, and by its text where the server does not have it, which
 * takes one round trip more. Not by a client's `defineCommand`, which tracks connections that it sent a text on: a node of a
 * cluster that redirected the command instead of running it then fails the next ones with NOSCRIPT.
 *
 * @returns Redis' own values: strings, null, lists.
 */
export async function runScript(
  client: RedisClient,
  { lua, digest }: Script,
  keys: readonly string[],
  values: readonly string[],
): Promise<unknown> {
  // One array, not one parameter a value: a call with a hundred thousand parameters overflows the stack.
  const run = (command: string, script: string) =>
    client.call(command, [script, keys.length, ...keys, ...values]);
  try {
    return await run("evalsha", digest);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return await run("eval", lua);
  }
}
