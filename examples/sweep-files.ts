import { readFile, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { codeOf, ifThere, namesIn, parseRow } from "./file-record-log.ts";

/** An unfinished insert older than this belongs to a process that died. */
const UNFINISHED_MS = 60 * 60 * 1000;

/**
 * Deletes the expired rows of file stores, as a database with expiring rows does by itself, and the remains of inserts whose
 * process died. Call it at intervals, from any process; it may run beside other calls.
 *
 * @param now in milliseconds since 1970.
 * @returns the number of deleted rows.
 */
export async function sweepFiles(directory: string, now = Date.now()): Promise<number> {
  let swept = 0;
  for (const stream of (await namesIn(directory)).filter((name) => /^[\da-f]{64}$/.test(name))) {
    for (const thousand of await namesIn(join(directory, stream))) {
      swept += await sweepFolder(join(directory, stream, thousand), now);
    }
    await removeIfEmpty(join(directory, stream));
  }
  return swept;
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
  for (const name of names.filter((name) => name.includes(".") && !kept.has(name))) {
    const file = await ifThere(stat(join(folder, name)));
    if (file && file.mtimeMs <= now - UNFINISHED_MS) await rm(join(folder, name), { force: true });
  }
  await removeIfEmpty(folder);
  return swept;
}

async function removeIfEmpty(folder: string): Promise<void> {
  await ifThere(rmdir(folder)).catch((error) => {
    if (codeOf(error) !== "ENOTEMPTY") throw error;
  });
}
