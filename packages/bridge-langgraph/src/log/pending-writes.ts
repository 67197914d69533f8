import {
  compareWritesSortKeys,
  type PendingWrite,
  type SerializerProtocol,
  WRITES_IDX_MAP,
  writesSortKey,
} from "@langchain/langgraph-checkpoint";
import type { LogAddition, WritesMessage } from "./log-message.ts";
import type { FoundCheckpoint, FoundWrites } from "./log-reading.ts";
import { literalsOf, SharedValues } from "./shared-values.ts";
import { encodeValue, type TypedValue } from "./typed-value.ts";

/** A serialized write: its index, its channel and its value. */
export type EncodedWrite = readonly [index: number, channel: string, value: TypedValue];

/** A pending write, with its serialized value. */
export interface EffectiveWrite {
  readonly taskId: string;
  readonly channel: string;
  readonly value: TypedValue;
}

/** Serializes the writes of a task. @throws StoreError `INVALID_ARGUMENT` that names the channel. */
export async function encodeWrites(
  serde: SerializerProtocol,
  writes: readonly PendingWrite[],
): Promise<EncodedWrite[]> {
  return await Promise.all(
    writes.map(async ([channel, value], place) => {
      const index = Object.hasOwn(WRITES_IDX_MAP, channel) ? WRITES_IDX_MAP[channel] : undefined;
      const what = `putWrites: channel ${JSON.stringify(channel)}`;
      return [index ?? place, channel, await encodeValue(serde, value, what)] as const;
    }),
  );
}

/**
 * The message of a task's writes, and the parts before it. What is new in their checkpoint, such as the input of a graph, is
 * referred to.
 *
 * @param position where the first of them will be in the log.
 * @param found the checkpoint, if it is in the log.
 */
export function writesAddition(
  position: number,
  { checkpointId, taskId, taskPath }: Pick<WritesMessage, "checkpointId" | "taskId" | "taskPath">,
  writes: readonly EncodedWrite[],
  found: FoundCheckpoint | undefined,
): LogAddition & { readonly message: WritesMessage } {
  const literals = found
    ? found.checkpoint.values.flatMap(([channel, value]) => literalsOf(found.position, channel, value))
    : [];
  const shared = new SharedValues(position, literals);
  const stored = writes.map(
    ([index, channel, value]) => [index, channel, shared.store(value, undefined)] as const,
  );
  const message = { kind: "writes", ...{ checkpointId, taskId, taskPath }, writes: stored } as const;
  return { parts: shared.parts, message, isEarly: found === undefined };
}

/**
 * Returns the effective writes, in the order in which LangGraph applies them. Of several with one index of one task, the first one is
 * effective, so that a repeated task writes once; of special ones (errors, interrupts, resumes; index below 0), the last one.
 */
export function effectiveWrites(found: readonly FoundWrites[]): EffectiveWrite[] {
  const effective = new Map<string, EffectiveWrite & { readonly key: ReturnType<typeof writesSortKey> }>();
  for (const { message, values } of found) {
    const { taskId, taskPath } = message;
    for (const [place, [index, channel]] of message.writes.entries()) {
      const name = JSON.stringify([taskId, index]);
      const value = values[place];
      if (!value || (index >= 0 && effective.has(name))) continue;
      effective.set(name, { key: writesSortKey(taskPath, taskId, index), taskId, channel, value });
    }
  }
  return [...effective.values()].sort((a, b) => compareWritesSortKeys(a.key, b.key));
}
