import { randomUUID } from "node:crypto";
import {
  envelope,
  type MarkedDirectories,
  type MemberNow,
  parseMetadata,
  valueOf as valueIn,
} from "@scrollback/collections";
import { type MessageStore, type Revision, retryOnConflict, StoreError } from "@scrollback/store-core";

/** The size of a piece: a message has at most 16 MiB, and encoded bytes have at most 4/3 of their size. */
const PIECE = 8 * 1_024 ** 2;
/** The maximum size of one commit. */
const MAX_COMMIT_BYTES = 64 * 1_024 ** 2;
const owner = { package: "@scrollback/bridge-strands", kind: "Strands value" };

/** The metadata of a value's thread. */
export interface Head {
  readonly version: 1;
  /** Random, new for each creation of the key. */
  readonly incarnation: string;
  /** The number of writes of this incarnation. */
  readonly writes: number;
  /** The number of messages that hold the bytes. */
  readonly pieces: number;
}

/** A value's head at one revision. */
export interface CachedHead {
  readonly head: Head | undefined;
  readonly revision: Revision | null;
}

/** The entry of a value in lists, which sort by key alone. */
export function listedAs({ incarnation, writes: version }: Head): MemberNow<null> {
  return { incarnation, version, order: 0, value: null };
}

/** Reads a value's head, in one read. */
export async function readHead(store: MessageStore): Promise<CachedHead> {
  const { metadata, revision } = await store.read({ limit: 0 });
  return { head: parseMetadata<Head>(store.threadId, metadata, owner), revision };
}

/** Returns the bytes of a value, or null if it does not exist, and its head. */
export async function readValue(store: MessageStore): Promise<{ data: Uint8Array | null; head: CachedHead }> {
  const { entries, metadata, revision } = await store.read();
  const head = parseMetadata<Head>(store.threadId, metadata, owner);
  if (!head) return { data: null, head: { head, revision } };
  if (entries.length !== head.pieces)
    throw new StoreError(
      "CORRUPT",
      `read: "${store.threadId}" has ${entries.length} of ${head.pieces} pieces`,
    );
  const data = new Uint8Array(Buffer.concat(entries.map(({ message }) => valueIn<Uint8Array>(message))));
  return { data, head: { head, revision } };
}

/** The input of {@link writeValue}. */
export interface ValueWrite {
  readonly key: string;
  readonly store: MessageStore;
  readonly directories: MarkedDirectories<null>;
  readonly directory: string;
  /** The head that this process has cached. */
  readonly cached: CachedHead | undefined;
  /** Whether to write only over the cached head. */
  readonly isGuarded: boolean;
  /** Returns the size of a value as it is stored, in bytes. */
  readonly sizeOf: (value: unknown) => number;
  /** Called before and after a key is created. */
  readonly announce: () => Promise<void>;
}

/** Writes or replaces a value, in one commit. @throws StoreError `CONFLICT` if it is guarded and another head is stored. */
export async function writeValue(write: ValueWrite, data: Uint8Array): Promise<CachedHead> {
  const { key, store, directories, directory, announce, isGuarded } = write;
  let { cached } = write;
  const options = isGuarded ? { attempts: 1 } : {};
  return await retryOnConflict(async () => {
    const { head, revision } = cached ?? (await readHead(store));
    // Another process may have written meanwhile, so a retry reads the head.
    cached = undefined;
    const pieces: Uint8Array[] = [];
    for (let start = 0; start === 0 || start < data.length; start += PIECE)
      pieces.push(data.subarray(start, start + PIECE));
    const incarnation = head?.incarnation ?? randomUUID();
    const next: Head = { version: 1, incarnation, writes: (head?.writes ?? 0) + 1, pieces: pieces.length };
    if (!head) {
      // Runs before lists contain the name of the key.
      const size = pieces.reduce((sum, piece) => sum + write.sizeOf(envelope("user", piece)), 0);
      if (size > MAX_COMMIT_BYTES)
        throw new StoreError("TOO_LARGE", `write: data has ${size} bytes encoded, at most 64 MiB fit`);
      await announce();
    }
    const written = await directories.write(directory, { key: [key], incarnation }, async () => {
      const change = {
        drop: "all" as const,
        append: pieces.map((piece) => envelope("user", piece)),
        metadata: next,
      };
      const at = await store.commit(change, { expectedRevision: revision });
      return { ...listedAs(next), was: head ? 0 : null, revision: at };
    });
    if (!head) await announce();
    return { head: next, revision: written.revision };
  }, options);
}
