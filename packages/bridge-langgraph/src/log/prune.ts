import { type ChannelValue, checkpointAddition } from "./checkpoint-writer.ts";
import type { LogAddition, LogMessage, WritesMessage } from "./log-message.ts";
import type { CheckpointContent, FoundCheckpoint } from "./log-reading.ts";
import type { LogWindow } from "./log-window.ts";
import { writesAddition } from "./pending-writes.ts";

/** A log without the checkpoints that were dropped. */
export interface PrunedLog {
  readonly messages: readonly LogMessage[];
  /** As in `LogFormat`. */
  readonly early: ReadonlyMap<string, number>;
}

/**
 * Writes a log again, from its beginning, with some of its checkpoints, in the order of their ids, each before its pending writes. What
 * they share with each other they share again. After them come the pending writes of checkpoints that are not in the log yet. Those with
 * a lower id than all checkpoints that stay are dropped: they are of a checkpoint that was dropped.
 *
 * @param window all messages.
 * @param kept checkpoints of the window, highest id first.
 * @param all all checkpoints of the window.
 */
export function pruned(
  window: LogWindow,
  kept: readonly FoundCheckpoint[],
  all: readonly FoundCheckpoint[],
): PrunedLog {
  const known = new Set(all.map(({ checkpoint }) => checkpoint.id));
  const oldest = kept.at(-1)?.checkpoint.id ?? "";
  const messages: LogMessage[] = [];
  const written = new Map<string, CheckpointContent>();
  const early = new Map<string, number>();
  // The values of a checkpoint are in memory until its last child is written.
  const lastChild = new Map<string, string>();
  for (const { checkpoint } of kept.toReversed())
    if (checkpoint.parentId !== undefined) lastChild.set(checkpoint.parentId, checkpoint.id);
  const add = ({ parts, message }: LogAddition): number => messages.push(...parts, message) - 1;
  const addWrites = (position: number, message: WritesMessage, before: CheckpointContent | undefined) => {
    const writes = message.writes.map(
      ([index, channel], place) => [index, channel, window.value(position, place)] as const,
    );
    const addition = writesAddition(messages.length, message, writes, before);
    return { ...addition, position: add(addition), values: writes.map(([, , value]) => value) };
  };
  const writesOf = Map.groupBy(writesIn(window), ({ message }) => message.checkpointId);
  for (const { checkpoint, position } of kept.toReversed()) {
    const { id, parentId, header, metadata, isAncestor } = checkpoint;
    const values = checkpoint.values.map(
      ([channel, , version]): ChannelValue => ({ channel, value: window.value(position, channel), version }),
    );
    const parent = parentId === undefined ? undefined : written.get(parentId);
    const stored = { id, parentId, header, metadata, early: undefined, ...(isAncestor && { isAncestor }) };
    const addition = checkpointAddition(messages.length, stored, values, parent);
    const content = { checkpoint: addition.message, position: add(addition), values: addition.values };
    const writes = (writesOf.get(id) ?? []).map(({ message, position: at }) =>
      addWrites(at, message, { ...content, writes: [] }),
    );
    if (lastChild.has(id)) written.set(id, { ...content, writes });
    if (parentId !== undefined && lastChild.get(parentId) === id) written.delete(parentId);
  }
  for (const [id, found] of writesOf) {
    if (known.has(id) || id < oldest) continue;
    for (const { message, position } of found) {
      const { position: at } = addWrites(position, message, undefined);
      if (!early.has(id)) early.set(id, at);
    }
  }
  return { messages, early };
}

function writesIn(window: LogWindow): { readonly message: WritesMessage; readonly position: number }[] {
  return window.messages.flatMap((message, index) =>
    message.kind === "writes" ? [{ message, position: window.low + index }] : [],
  );
}
