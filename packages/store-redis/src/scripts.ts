import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RedisClient } from "./options.ts";

/** A script from its file. The comment at the top of the file documents arguments and replies. */
export interface Script {
  readonly lua: string;
  /** The SHA-1 digest of the text, by which a server caches it. */
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
 * Runs a script with its keys and arguments: by its digest, or by its text if the server does not have it, which takes one
 * more round trip. Does not use the client's `defineCommand`, which remembers the connections on which it has sent the text:
 * if a cluster node redirected that command instead of running it, the next commands fail with NOSCRIPT.
 *
 * @returns the values that Redis returned: strings, null, lists.
 */
export async function runScript(
  client: RedisClient,
  { lua, digest }: Script,
  keys: readonly string[],
  values: readonly string[],
): Promise<unknown> {
  // One array instead of one parameter per value: a call with 100,000 parameters overflows the stack.
  const run = (command: string, script: string) =>
    client.call(command, [script, keys.length, ...keys, ...values]);
  try {
    return await run("evalsha", digest);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return await run("eval", lua);
  }
}
