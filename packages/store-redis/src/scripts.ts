import { createHash } from "node:crypto";
import type { Commands } from "./connection.ts";
import { commitLua, deleteLua, entriesLua, readRangeLua } from "./lua.ts";

/** A script. The comment at the top of its text documents arguments and replies. */
export interface Script {
  readonly lua: string;
  /** The SHA-1 digest of the text, by which a server caches it. */
  readonly digest: string;
}

function script(lua: string): Script {
  return { lua, digest: createHash("sha1").update(lua).digest("hex") };
}

export const commitScript = script(commitLua);
export const deleteScript = script(deleteLua);
export const entriesScript = script(entriesLua);
export const readRangeScript = script(readRangeLua);

/**
 * Runs a script with its keys and arguments: by its digest, or by its text if the server does not have it, which takes one
 * more round trip. Does not use ioredis' `defineCommand`, which remembers the connections on which it has sent the text:
 * if a cluster node redirected that command instead of running it, the next commands fail with NOSCRIPT.
 *
 * @param beforeRepeating called before the text is sent; what it throws is thrown.
 * @returns the values that Redis returned: strings, null, lists.
 */
export async function runScript(
  commands: Commands,
  { lua, digest }: Script,
  keys: readonly string[],
  values: readonly string[],
  beforeRepeating?: () => void,
): Promise<unknown> {
  const run = (command: string, script: string) =>
    commands.call({ words: [command, script, `${keys.length}`], keys, values });
  try {
    return await run("evalsha", digest);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    beforeRepeating?.();
    return await run("eval", lua);
  }
}
