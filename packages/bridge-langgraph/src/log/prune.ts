import { type ChannelValue, checkpointAddition } from "./checkpoint-writer.ts";
import type { LogAddition, LogMessage } from "./log-message.ts";
import type { CheckpointContent, FoundCheckpoint } from "./log-reading.ts";
import type { LogWindow } from "./log-window.ts";
import { writesAddition } from "./pending-writes.ts";

/** A log without the checkpoints that were dropped. */
export interface PrunedLog {
  readonly messages: readonly LogMessage[];
  /** As in `LogFormat`. */
  readonly isUnsorted: boolean;
  readonly early: ReadonlyMap<string, number>;
}

/**
 * Writes a log again, from its beginning, with some of its checkpoints and their pending writes, and with the pending writes of
 * checkpoints that are not in the log yet. What they share with each other they share again.
 *
 * @param window all messages.
 * @param kept checkpoints of the window.
 * @param all all checkpoints of the window.
 */
export function pruned(
  window: LogWindow,
  kept: readonly FoundCheckpoint[],
  all: readonly FoundCheckpoint[],
): PrunedLog {
  const keptPositions = new Set(kept.map(({ position }) => position));
  const known = new Set(all.map(({ checkpoint }) => checkpoint.id));
  const keptIds = new Set(kept.map(({ checkpoint }) => checkpoint.id));
  const messages: LogMessage[] = [];
  const written = new Map<string, CheckpointContent>();
  const early = new Map<string, number>();
  // The values of a checkpoint are in memory until its last child is written.
  const lastChild = new Map<string, number>();
  for (const { checkpoint, position } of kept)
    if (checkpoint.parentId !== undefined)
      lastChild.set(checkpoint.parentId, Math.max(lastChild.get(checkpoint.parentId) ?? 0, position));
  const add = ({ parts, message }: LogAddition): number => messages.push(...parts, message) - 1;
  let highest: string | undefined;
  let isUnsorted = false;
  for (let position = window.low; position < window.high; position++) {
    const message = window.at(position);
    if (message?.kind === "writes") {
      const { checkpointId: id } = message;
      if (!keptIds.has(id) && known.has(id)) continue;
      const writes = message.writes.map(
        ([index, channel], place) => [index, channel, window.value(position, place)] as const,
      );
      const before = written.get(id);
      const addition = writesAddition(messages.length, message, writes, before);
      const at = add(addition);
      const values = writes.map(([, , value]) => value);
      if (before)
        written.set(id, { ...before, writes: [...before.writes, { ...addition, position: at, values }] });
      else if (!early.has(id)) early.set(id, at);
    } else if (message?.kind === "checkpoint" && keptPositions.has(position)) {
      const values = message.values.map(
        ([channel, , version]): ChannelValue => ({
          channel,
          value: window.value(position, channel),
          version,
        }),
      );
      const { id, parentId, header, metadata } = message;
      const stored = { id, parentId, header, metadata, early: early.get(id) };
      const parent = parentId === undefined ? undefined : written.get(parentId);
      const addition = checkpointAddition(messages.length, stored, values, parent);
      written.set(id, {
        checkpoint: addition.message,
        position: add(addition),
        values: lastChild.has(id) ? addition.values : [],
        writes: [],
      });
      if (parentId !== undefined && parent && lastChild.get(parentId) === position)
        written.set(parentId, { ...parent, values: [], writes: [] });
      early.delete(id);
      if (highest === undefined || id > highest) highest = id;
      else isUnsorted = true;
    }
  }
  return { messages, isUnsorted, early };
}
