import type { Revision } from "@scrollback/store-core";
import type { CheckpointLog } from "../log/checkpoint-log.ts";
import type { FoundCheckpoint } from "../log/log-reading.ts";
import type { CheckpointReader } from "./checkpoint-reader.ts";

/** What stays of a thread. */
export interface Kept {
  /** The number of newest checkpoints of each namespace that stay. */
  readonly keep: number;
  /** Those that were created later stay, in milliseconds since 1970. */
  readonly before: number;
}

/** A thread whose checkpoints are pruned. */
export interface PrunedThread {
  readonly namespaces: readonly string[];
  readonly reader: CheckpointReader;
  log(namespace: string): CheckpointLog;
  /** Deletes the log of a namespace at this revision. @throws StoreError `CONFLICT` if it has changed. */
  removeLog(namespace: string, expectedRevision: Revision | null): Promise<void>;
  /** Takes those of the namespaces from the registration that have no log. */
  unregister(namespaces: readonly string[]): Promise<void>;
}

/** What a prune found of a namespace, and what stays of it: highest id first. */
interface Selection {
  readonly all: readonly FoundCheckpoint[];
  readonly kept: readonly FoundCheckpoint[];
}

/**
 * Prunes each namespace of a thread, and deletes those of calls of subgraphs that belong to checkpoints that were dropped.
 *
 * @returns the number of dropped checkpoints.
 */
export async function pruneThread(thread: PrunedThread, kept: Kept): Promise<number> {
  const selections = new Map<string, Selection>();
  let dropped = 0;
  // A namespace begins with the one that it is called from.
  for (const namespace of thread.namespaces.toSorted((a, b) => a.length - b.length)) {
    const select = async (all: readonly FoundCheckpoint[]) => {
      const isOver = isCall(namespace) && (await isOfDropped(thread, all, selections));
      const selection = { all, kept: isOver ? [] : await selected(thread, all, kept) };
      selections.set(namespace, selection);
      return selection.kept;
    };
    dropped += await thread.log(namespace).prune(select, (revision) => thread.removeLog(namespace, revision));
  }
  const ended = [...selections].filter(
    ([namespace, { kept: rest }]) => isCall(namespace) && rest.length === 0,
  );
  if (ended.length > 0) await thread.unregister(ended.map(([namespace]) => namespace));
  return dropped;
}

async function selected(
  { reader }: PrunedThread,
  all: readonly FoundCheckpoint[],
  { keep, before }: Kept,
): Promise<readonly FoundCheckpoint[]> {
  const kept: FoundCheckpoint[] = [];
  for (const [place, found] of all.filter(isVisible).entries())
    if (place < keep || (await reader.time(found.checkpoint)) >= before) kept.push(found);
  return await reader.withNeeded(kept, all);
}

function isVisible({ checkpoint }: FoundCheckpoint): boolean {
  return !checkpoint.isAncestor;
}

/** Whether a namespace is that of one call of a subgraph: LangGraph appends the id of the task to the name of its node. */
function isCall(namespace: string): boolean {
  return namespace.includes(":");
}

/** Whether the checkpoints of a namespace were written for a checkpoint of another one that was dropped. */
async function isOfDropped(
  { reader }: PrunedThread,
  [newest]: readonly FoundCheckpoint[],
  selections: ReadonlyMap<string, Selection>,
): Promise<boolean> {
  if (!newest) return false;
  const { parents = {} } = await reader.metadata(newest.checkpoint);
  return Object.entries(parents).some(([namespace, id]) => {
    const { all, kept } = selections.get(namespace) ?? { all: [], kept: [] };
    const stays = kept.filter(isVisible);
    const has = (found: readonly FoundCheckpoint[]) => found.some(({ checkpoint }) => checkpoint.id === id);
    if (has(stays)) return false;
    const oldest = stays.at(-1)?.checkpoint.id;
    return has(all) || (oldest === undefined ? all.length > 0 : id < oldest);
  });
}
