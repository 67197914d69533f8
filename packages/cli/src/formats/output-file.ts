import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { destinationOf } from "../context/sqlite-files.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

/**
 * Writes a file that appears, or is replaced, when `write` has succeeded; only its owner can read it. A device or a FIFO is written to
 * as it is, and a link stays a link.
 *
 * @throws CommandError if the file cannot be written.
 */
export async function writeOutputFile(
  path: string,
  write: (writeText: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const found = await stat(path).catch(() => undefined);
  const isRegular = found?.isFile() ?? true;
  const destination = isRegular ? await destinationOf(path).catch(unwritable) : path;
  const written = isRegular ? temporaryName(destination) : path;
  const file = createWriteStream(written, isRegular ? { mode: 0o600, flags: "wx" } : { flags: "w" });
  await once(file, "open").catch(unwritable);
  const failed = once(file, "error").then(([error]) => unwritable(error));
  failed.catch(() => undefined);
  const next = (event: string) => Promise.race([failed, once(file, event).catch(unwritable)]);
  try {
    await write(async (text) => {
      if (!file.write(text)) await next("drain");
    });
    file.end();
    await next("close");
    if (isRegular) await rename(written, destination).catch(unwritable);
  } finally {
    file.destroy();
    if (isRegular) await rm(written, { force: true });
  }
}

/** A name that no other file in the same folder has. */
function temporaryName(path: string): string {
  return `${path}.${randomUUID().slice(0, 8)}.partial`;
}

function unwritable(error: unknown): never {
  const { code = "unknown" } = Object(error) as NodeJS.ErrnoException;
  throw new CommandError(exitCodes.usage, `the output file cannot be written (${code})`, { cause: error });
}
