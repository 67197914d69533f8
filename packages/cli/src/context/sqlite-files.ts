import { readlink, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

/** SQLite's files beside a database, by the ends of their names; the first is the database itself. */
const SUFFIXES = ["", "-wal", "-shm", "-journal"];

/** The path of the file of SQLite or libSQL of a URL; undefined for another backend and for a database in memory. */
export function sqlitePathOf(url: string): string | undefined {
  const path = /^(?:sqlite:|libsql:(?!\/\/))(.+)$/s.exec(url)?.[1];
  return path === ":memory:" ? undefined : path;
}

/** The files that SQLite may use for a URL, whether they exist or not; none for other backends. */
export async function sqliteFilesOf(url: string): Promise<readonly string[]> {
  const path = sqlitePathOf(url);
  if (path === undefined) return [];
  // A path that cannot be resolved cannot be opened either.
  const file = await destinationOf(path).catch(() => resolve(path));
  return SUFFIXES.map((suffix) => file + suffix);
}

/** Whether one of the files is one of the others, also through links and hard links. */
export async function haveSameFile(some: readonly string[], others: readonly string[]): Promise<boolean> {
  const identities = new Set((await Promise.all(some.map(identitiesOf))).flat());
  return (await Promise.all(others.map(identitiesOf))).flat().some((identity) => identities.has(identity));
}

/** The path behind links, also behind one whose file does not exist yet. */
export async function destinationOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const link = await readlink(path).catch(() => undefined);
    return link === undefined
      ? join(await realpath(dirname(path)), basename(path))
      : await destinationOf(resolve(dirname(path), link));
  }
}

/** The path of a file and, if it exists, its number in its file system, which all its hard links share. */
async function identitiesOf(path: string): Promise<string[]> {
  const file = await destinationOf(path).catch(() => resolve(path));
  const found = await stat(file, { bigint: true }).catch(() => undefined);
  return found?.isFile() ? [file, `${found.dev}:${found.ino}`] : [file];
}
