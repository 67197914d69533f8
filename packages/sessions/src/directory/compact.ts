import { randomBytes } from "node:crypto";
import { type ChatMessage, StoreError, type StoreFactory } from "@scrollback/store-core";
import { FORMAT_VERSION, parseMetadata } from "../format.ts";
import { threads } from "../threads.ts";
import { compareNewest, type Entry, isCurrent, lifeKeyOf, type Note, toStored } from "./entry.ts";
import {
  type Directory,
  indexOfLeaf,
  type LeafRef,
  noteOf,
  Outdated,
  type Root,
  readDirectory,
  readLeaf,
} from "./tree.ts";

/** Fewer notes than this are left as they are. */
export const ENOUGH_NOTES = 128;
const MAX_LEAF = 256;
/** Leaves smaller than this are joined with a neighbour that is written anyway. */
const SMALL_LEAF = 64;
const MAX_ATTEMPTS = 20;

/**
 * Sorts a directory's notes into its leaves, when there are enough of them. Leaves are written first, as new threads or
 * over retired ones, and become part of the directory by the one commit that also takes the notes away. Whoever comes
 * too late for that leaves the directory as it is.
 */
export async function compact(stores: StoreFactory, threadId: string): Promise<void> {
  const directory = await readDirectory(stores, threadId);
  if (directory.noteCount < ENOUGH_NOTES) return;
  try {
    await commitRoot(stores, threadId, directory, await rebuild(stores, directory));
  } catch (error) {
    // Another one is at it.
    if (!(error instanceof Outdated) && !StoreError.is(error, "CONFLICT")) throw error;
  }
}

async function rebuild(stores: StoreFactory, { root, notes }: Directory): Promise<Root> {
  const { leaves } = root;
  const touched = touchedLeaves(leaves, notes);
  const spare = [...root.retired];
  const next: LeafRef[] = [];
  const retired: LeafRef[] = [];
  let run: Entry[] = [];
  const moved = [...notes.values()].filter((note) => !note.removed);
  const closeRun = async () => {
    for (const entries of chunks(newestOfEach(run).sort(compareNewest)))
      next.push(await writeLeaf(stores, entries, spare));
    run = [];
  };
  for (let index = 0; index < Math.max(1, leaves.length); index++) {
    const leaf = leaves[index];
    if (leaf && !touched.has(index)) {
      await closeRun();
      next.push(leaf);
      continue;
    }
    if (leaf) {
      const entries = await readLeaf(stores, leaf);
      run.push(...entries.filter((entry) => isCurrent(entry, notes.get(lifeKeyOf(entry)))));
      retired.push(leaf);
    }
    run.push(...moved.filter((note) => indexOfLeaf(leaves, note) === index));
  }
  await closeRun();
  const free = [...spare, ...retired].map(({ id, revision }) => ({ id, revision }));
  return { version: FORMAT_VERSION, compactions: root.compactions + 1, leaves: next, retired: free };
}

/** Which leaves the notes change, and their small neighbours. */
function touchedLeaves(leaves: readonly LeafRef[], notes: ReadonlyMap<string, Note>): Set<number> {
  const touched = new Set<number>();
  for (const note of notes.values()) {
    for (const time of [note.time, ...note.was]) touched.add(indexOfLeaf(leaves, { ...note, time }));
  }
  for (const index of [...touched]) {
    for (const neighbour of [index - 1, index + 1]) {
      if ((leaves[neighbour]?.count ?? MAX_LEAF) < SMALL_LEAF) touched.add(neighbour);
    }
  }
  return touched;
}

/** Of two entries of a life, which a slow note leaves, the one with more events. */
function newestOfEach(entries: readonly Entry[]): Entry[] {
  const newest = new Map<string, Entry>();
  for (const entry of entries) {
    const other = newest.get(lifeKeyOf(entry));
    if (!other || other.events < entry.events) newest.set(lifeKeyOf(entry), entry);
  }
  return [...newest.values()];
}

/** Full from the old end on: what is new mostly comes at the other one. */
function chunks(entries: readonly Entry[]): Entry[][] {
  const pieces: Entry[][] = [];
  for (let end = entries.length; end > 0; end -= MAX_LEAF) {
    pieces.unshift(entries.slice(Math.max(0, end - MAX_LEAF), end));
  }
  return pieces;
}

/** Writes a leaf over a retired one, or as a new thread where there is none that can be had. */
async function writeLeaf(
  stores: StoreFactory,
  entries: readonly Entry[],
  spare: Pick<LeafRef, "id" | "revision">[],
): Promise<LeafRef> {
  const [first] = entries;
  if (!first) throw new RangeError("a leaf has entries");
  const { time, sessionId, userId } = first;
  const message: ChatMessage = { role: "user", content: "", metadata: entries.map(toStored) };
  for (;;) {
    const place = spare.shift() ?? { id: randomBytes(12).toString("base64url"), revision: null };
    try {
      const options = { expectedRevision: place.revision };
      const revision = await stores.open(threads.leaf(place.id)).replaceMessages([message], options);
      return {
        id: place.id,
        revision: String(revision),
        count: entries.length,
        first: { time, sessionId, userId },
      };
    } catch (error) {
      // It was written over by a compaction that came too late, or has expired. Nobody needs it.
      if (!StoreError.is(error, "CONFLICT")) throw error;
    }
  }
}

/** Takes the notes away and puts the new root in their place; notes that came meanwhile stay. */
async function commitRoot(
  stores: StoreFactory,
  threadId: string,
  from: Directory,
  root: Root,
): Promise<void> {
  const store = stores.open(threadId);
  let { revision } = from;
  let append: ChatMessage[] = [];
  for (let attempt = 0; ; attempt++) {
    try {
      await store.commit({ drop: "all", append, metadata: root }, { expectedRevision: revision });
      return;
    } catch (error) {
      if (!StoreError.is(error, "CONFLICT") || attempt >= MAX_ATTEMPTS) throw error;
    }
    const page = await store.read();
    const compactions = parseMetadata<Root>(threadId, page.metadata)?.compactions ?? 0;
    if (compactions !== from.root.compactions) throw new Outdated("another compaction was first");
    revision = page.revision;
    append = page.entries
      .filter(({ sequence }) => sequence > from.last)
      .map(({ message }): ChatMessage => ({ role: "user", content: "", metadata: noteOf(message) }));
  }
}
