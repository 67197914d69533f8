import { readFile, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, ifThere, namesIn, parseRow, writeName } from "./file-record-log.ts";

/** An insert that is not finished by then was left by a process that died. */
const UNFINISHED_MS = 60 * 60 * 1000;

/**
 * Deletes the rows of file stores that have expired, as a database with expiring rows does by itself, and what was left of
 * inserts whose process died. To be called now and then, by any process, beside others at work.
 *
 * @param now in milliseconds since the epoch.
 * @returns how many rows were deleted.
 */
export async function sweepFiles(directory: string, now = Date.now()): Promise<number> {
  let swept = 0;
  for (const stream of (await namesIn(directory)).filter((name) => /^[\da-f]{64}$/.test(name))) {
    for (const thousand of await namesIn(join(directory, stream))) {
      swept += await sweepFolder(join(directory, stream, thousand), now);
    }
    await removeIfEmpty(join(directory, stream));
  }
  await sweepNames(directory, now);
  return swept;
}

/** Removes the names of streams that are gone. One that comes back meanwhile gets its name back. */
async function sweepNames(directory: string, now: number): Promise<void> {
  const folder = join(directory, "names");
  for (const name of await namesIn(folder)) {
    if (name.includes(".")) await removeUnfinished(join(folder, name), now);
    else if (!(await ifThere(stat(join(directory, name))))) {
      const stream = await ifThere(readFile(join(folder, name), "utf8"));
      await rm(join(folder, name), { force: true });
      if (stream !== undefined && (await ifThere(stat(join(directory, name)))))
        await writeName(directory, stream);
    }
  }
}

async function sweepFolder(folder: string, now: number): Promise<number> {
  const names = await namesIn(folder);
  const kept = new Set<string>();
  let swept = 0;
  for (const name of names.filter((name) => !name.includes("."))) {
    const file = await ifThere(readFile(join(folder, name), "utf8"));
    if (file === undefined) continue;
    const { expiresAt, id } = parseRow(file);
    kept.add(`${name}.${id}`);
    if (expiresAt === undefined || expiresAt > now) continue;
    await rm(join(folder, `${name}.${id}`), { force: true });
    await rm(join(folder, name), { force: true });
    swept++;
  }
  for (const name of names.filter((name) => name.includes(".") && !kept.has(name)))
    await removeUnfinished(join(folder, name), now);
  await removeIfEmpty(folder);
  return swept;
}

async function removeUnfinished(path: string, now: number): Promise<void> {
  const file = await ifThere(stat(path));
  if (file && file.mtimeMs <= now - UNFINISHED_MS) await rm(path, { force: true });
}

async function removeIfEmpty(folder: string): Promise<void> {
  await ifThere(rmdir(folder)).catch((error) => {
    if (codeOf(error) !== "ENOTEMPTY") throw error;
  });
}
