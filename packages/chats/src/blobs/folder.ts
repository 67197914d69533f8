/**
 * Files of chats in a folder. For Node.js, Bun and Deno.
 *
 * @packageDocumentation
 */
import { randomUUID } from "node:crypto";
import { mkdir, open, opendir, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { BlobStorage } from "@scrollback/collections";
import { StoreError } from "@scrollback/store-core";
import { isString } from "@scrollback/store-core/driver";
import { checkValue } from "@scrollback/store-core/internal";

const TEMPORARY = ".tmp";
/** No write takes longer. */
const STALE_MS = 3_600_000;
/** Between two looks at the signal. */
const PIECE_BYTES = 4 * 1_048_576;

const denied = "may not be read and written by this process; give its user these permissions";
const noFolder = "is not a folder, or is in a file; name another path";
const full = "has no space left; free space on its disk, or raise the quota";
/** Problems that last until somebody mends them, by the code of the error. */
const problems: Readonly<Record<string, string>> = {
  ...{ EACCES: denied, EPERM: denied, EROFS: denied },
  ...{ ENOTDIR: noFolder, EEXIST: noFolder, EISDIR: noFolder, ENAMETOOLONG: noFolder },
  ...{ ENOSPC: full, EDQUOT: full },
};

/**
 * Contents of files in a folder, a file each, for {@link ChatStoreOptions.blobs}. Does no I/O. The first write creates the folder, with
 * mode 0700, and files have mode 0600. A write is durable when its call returns, and happens as a whole or not at all. Several processes
 * may use the folder, also over a network file system that renames atomically.
 *
 * @param path of the folder, for nothing else. A relative one is resolved now.
 * @throws StoreError `INVALID_ARGUMENT` for an invalid path. Calls of the storage throw `UNAVAILABLE`: not retryable if the folder is not
 *   accessible, is a file, or is full.
 * @example
 * const chats = new ChatStore({ stores, blobs: createFolderBlobs("./chat-files") });
 */
export function createFolderBlobs(path: string): BlobStorage {
  checkValue("createFolderBlobs", "path", isString, path);
  const folder = resolve(path);
  // Keys that differ in case alone are other files on any file system.
  const fileOf = (key: string) => join(folder, Buffer.from(key).toString("hex"));
  let sweptAt = Number.NEGATIVE_INFINITY;

  /** Removes what processes that died have left. Reads the names of all files, so once an hour. */
  async function sweep(): Promise<void> {
    if (Date.now() < sweptAt + STALE_MS) return;
    sweptAt = Date.now();
    for await (const { name } of await opendir(folder)) {
      if (!name.endsWith(TEMPORARY)) continue;
      const file = join(folder, name);
      // Another process may remove it meanwhile.
      const found = await orUndefined(stat(file));
      if (found && found.mtimeMs < Date.now() - STALE_MS) await rm(file, { force: true });
    }
  }

  async function write(file: string, content: Uint8Array, signal: AbortSignal | undefined): Promise<void> {
    await makeFolder(folder);
    await sweep();
    const temporary = `${file}.${randomUUID()}${TEMPORARY}`;
    try {
      await using handle = await open(temporary, "wx", 0o600);
      await handle.writeFile(content, { signal });
      await handle.sync();
      await handle.close();
      signal?.throwIfAborted();
      await rename(temporary, file);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
    await syncFolder(folder);
  }

  return {
    put: (key, content, { signal } = {}) => named(folder, write(fileOf(key), content, signal)),
    get: (key, options = {}) => named(folder, orUndefined(read(fileOf(key), options))),
    async delete(key) {
      const erase = async () => {
        await rm(fileOf(key), { force: true });
        await syncFolder(folder);
      };
      await named(folder, orUndefined(erase()));
    },
  };
}

/** The bytes of a file from `start` to before `end`. */
async function read(
  file: string,
  {
    start = 0,
    end = Number.POSITIVE_INFINITY,
    signal,
  }: { readonly start?: number; readonly end?: number; readonly signal?: AbortSignal },
): Promise<Uint8Array> {
  await using handle = await open(file, "r");
  const { size } = await handle.stat();
  const content = new Uint8Array(Math.max(0, Math.min(end, size) - start));
  for (let at = 0; at < content.length; ) {
    signal?.throwIfAborted();
    const piece = content.subarray(at, at + PIECE_BYTES);
    const { bytesRead } = await handle.read(piece, 0, piece.length, start + at);
    if (bytesRead === 0) throw new Error("the file is shorter than it was");
    at += bytesRead;
  }
  return content;
}

async function makeFolder(folder: string): Promise<void> {
  const made = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (made === undefined) return;
  for (let at = folder; at.length >= made.length; at = dirname(at)) await syncFolder(dirname(at));
}

/** Makes the names in a folder durable. Windows does so itself. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  await using handle = await open(folder, "r");
  await handle.sync().catch((error: unknown) => {
    // Some file systems, most of them of networks, have no such call.
    if (!["EINVAL", "ENOTSUP"].includes(codeOf(error))) throw error;
  });
}

/** Undefined if a file is missing. */
async function orUndefined<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** @throws StoreError `UNAVAILABLE` with the path of the folder for an error of the file system. */
async function named<T>(folder: string, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    const code = codeOf(cause);
    const known = Object.hasOwn(problems, code);
    const problem = known ? problems[code] : `failed${code && ` with ${code}`}; see cause`;
    throw new StoreError("UNAVAILABLE", `createFolderBlobs: the folder "${folder}" ${problem}`, {
      cause,
      retryable: !known,
    });
  }
}

function codeOf(error: unknown): string {
  const { code } = Object(error);
  return typeof code === "string" ? code : "";
}
