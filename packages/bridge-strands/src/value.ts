import { randomUUID } from "node:crypto";
import {
  envelope,
  type Listed,
  type Lists,
  type Member,
  parseMetadata,
  type Snapshot,
  valueOf as valueIn,
} from "@scrollback/collections";
import { type MessageStore, type Revision, retryOnConflict, StoreError } from "@scrollback/store-core";
import { indexOf } from "./keys.ts";

/** The size of a piece: a message has at most 16 MiB, and encoded bytes have at most 4/3 of their size. */
const PIECE = 8 * 1_024 ** 2;
/** The maximum size of one commit. */
const MAX_COMMIT_BYTES = 64 * 1_024 ** 2;
const owner = { package: "@scrollback/bridge-strands", kind: "Strands value", isListed: true };

/** The metadata of a value's thread. */
interface Head {
  readonly version: 1;
  /** Random, new for each creation of the key. */
  readonly incarnation: string;
  /** The number of writes of this incarnation. */
  readonly writes: number;
  /** The number of messages that hold the bytes. */
  readonly pieces: number;
  readonly listed: Listed;
}

/** A value's head at one revision. */
export interface CachedHead {
  readonly head: Head | undefined;
  readonly revision: Revision | null;
}

/** A value's head at one revision, as lists need it. Lists sort by key alone, so their entries never change. */
export interface ValueHead extends Snapshot<null> {
  readonly head: Head;
}

/** A head as lists need it; undefined for a missing value. */
export function snapshotOf({ head, revision }: CachedHead): ValueHead | undefined {
  if (!head || revision === null) return undefined;
  const { incarnation, writes: version, listed } = head;
  return { incarnation, version, listed, order: 0, told: null, revision, head };
}

/** A value in the list of its group. */
export function memberOf(key: string, store: MessageStore): Member<null, ValueHead> {
  return {
    ...{ threadId: store.threadId, key, bases: [indexOf(key)] },
    async read(signal) {
      const cached = await readHead(store, signal);
      return snapshotOf(cached) ?? { revision: cached.revision };
    },
    async place(snapshot, listed) {
      const { version, revision: expectedRevision } = snapshot;
      const head = { ...snapshot.head, writes: version + 1, listed };
      const revision = String(await store.commit({ metadata: head }, { expectedRevision }));
      return { ...snapshot, head, listed, revision, version: version + 1 };
    },
  };
}

/** Reads a value's head, in one read. */
async function readHead(store: MessageStore, signal?: AbortSignal): Promise<CachedHead> {
  const { metadata, revision } = await store.read({ limit: 0, ...(signal && { signal }) });
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
  readonly member: Member<null, ValueHead>;
  readonly store: MessageStore;
  readonly lists: Lists<null, ValueHead>;
  /** The head that this process has cached. */
  readonly cached: CachedHead | undefined;
  /** Whether to write only over the cached head. */
  readonly isGuarded: boolean;
  /** Returns the size of a value as it is stored, in bytes. */
  readonly sizeOf: (value: unknown) => number;
}

/** Writes or replaces a value, in one commit. @throws StoreError `CONFLICT` if it is guarded and another head is stored. */
export async function writeValue(write: ValueWrite, data: Uint8Array): Promise<CachedHead> {
  const { member, store, lists, isGuarded } = write;
  let { cached } = write;
  const options = isGuarded ? { attempts: 1 } : {};
  return await retryOnConflict(async () => {
    const { head, revision: expectedRevision } = cached ?? (await readHead(store));
    // Another process may have written meanwhile, so a retry reads the head.
    cached = undefined;
    const pieces: Uint8Array[] = [];
    for (let start = 0; start === 0 || start < data.length; start += PIECE)
      pieces.push(data.subarray(start, start + PIECE));
    // Runs before lists contain the name of the key.
    const size = head ? 0 : pieces.reduce((sum, piece) => sum + write.sizeOf(envelope("user", piece)), 0);
    if (size > MAX_COMMIT_BYTES)
      throw new StoreError("TOO_LARGE", `write: data has ${size} bytes encoded, at most 64 MiB fit`);
    const next = {
      version: 1 as const,
      incarnation: head?.incarnation ?? randomUUID(),
      writes: (head?.writes ?? 0) + 1,
      pieces: pieces.length,
    };
    const draft = { version: next.writes, order: 0, told: null };
    const { listed, revision } = await lists.write(member, head, member.bases, draft, async (places) => {
      const append = pieces.map((piece) => envelope("user", piece));
      const change = { drop: "all" as const, append, metadata: { ...next, listed: places } };
      return { revision: String(await store.commit(change, { expectedRevision })) };
    });
    return { head: { ...next, listed }, revision };
  }, options);
}
