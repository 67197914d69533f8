import { isDeepStrictEqual } from "node:util";
import { StoreError } from "@scrollback/store-core";
import type { CheckpointLog } from "../log/checkpoint-log.ts";
import type { CheckpointMessage } from "../log/log-message.ts";
import type { CheckpointContent } from "../log/log-reading.ts";
import type { Namespace } from "./configurable.ts";

/** A checkpoint that a list has found. */
export interface ListedCheckpoint {
  readonly namespace: Namespace;
  readonly checkpoint: CheckpointMessage;
  /** Undefined if the checkpoint was dropped since. */
  readonly content: () => Promise<CheckpointContent | undefined>;
}

/** Yields the checkpoints of a log, highest id first, or the one with this id. */
export async function* listedCheckpoints(
  namespace: Namespace,
  log: CheckpointLog,
  id: string | undefined,
): AsyncGenerator<ListedCheckpoint, void> {
  if (id === undefined) {
    for await (const [found, reading] of log.checkpoints()) {
      if (found.checkpoint.isAncestor) continue;
      yield {
        ...{ namespace, checkpoint: found.checkpoint },
        content: () =>
          reading.content(found).catch(async (error: unknown) => {
            // The log was replaced meanwhile: the new one may still have the checkpoint.
            if (!StoreError.is(error, "CONFLICT")) throw error;
            const content = await log.content(found.checkpoint.id);
            return content?.checkpoint.isAncestor ? undefined : content;
          }),
      };
    }
    return;
  }
  const content = await log.content(id);
  if (content && !content.checkpoint.isAncestor)
    yield { namespace, checkpoint: content.checkpoint, content: async () => content };
}

/** Whether a checkpoint has the metadata of a filter. An empty filter reads none. */
export async function hasMetadata(
  filter: Readonly<Record<string, unknown>>,
  read: () => Promise<object | undefined>,
): Promise<boolean> {
  const wanted = Object.entries(filter);
  if (wanted.length === 0) return true;
  const metadata: Record<string, unknown> = { ...(await read()) };
  return wanted.every(([key, value]) => isDeepStrictEqual(metadata[key], value));
}

const AT_ONCE = 16;

/** Merges lists, highest id first. Reads the first checkpoint of each list before it yields one. */
export async function* merged(
  lists: readonly AsyncGenerator<ListedCheckpoint, void>[],
): AsyncGenerator<ListedCheckpoint> {
  const heads: { next: ListedCheckpoint; readonly rest: AsyncGenerator<ListedCheckpoint, void> }[] = [];
  for (let start = 0; start < lists.length; start += AT_ONCE) {
    const batch = lists.slice(start, start + AT_ONCE);
    const opened = await Promise.all(batch.map(async (rest) => ({ next: (await rest.next()).value, rest })));
    for (const { next, rest } of opened) if (next) heads.push({ next, rest });
  }
  while (heads.length > 0) {
    const highest = heads.reduce((a, b) => (b.next.checkpoint.id > a.next.checkpoint.id ? b : a));
    yield highest.next;
    const { value } = await highest.rest.next();
    if (value) highest.next = value;
    else heads.splice(heads.indexOf(highest), 1);
  }
}
