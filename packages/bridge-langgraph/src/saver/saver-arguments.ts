import type { CheckpointListOptions } from "@langchain/langgraph-checkpoint";
import { checkOptions, invalid, isId } from "@scrollback/store-core/driver";
import { isCount, isPositiveInteger } from "@scrollback/store-core/internal";
import { checkLimit, checkObject } from "../checks.ts";

/** @throws StoreError `INVALID_ARGUMENT` for values that `put` cannot store. */
export function checkPut(checkpoint: unknown, newVersions: unknown): void {
  checkObject("put: checkpoint", checkpoint, "pass a Checkpoint");
  const { id, channel_values, channel_versions } = checkpoint as Record<string, unknown>;
  const problem = isId(id);
  if (problem) invalid(`put: checkpoint.id ${problem}`);
  checkObject("put: checkpoint.channel_values", channel_values, "pass the values by channel, or {}");
  checkObject("put: checkpoint.channel_versions", channel_versions, "pass the versions by channel, or {}");
  checkObject("put: newVersions", newVersions, "pass the versions of the changed channels, or {}");
}

/** @throws StoreError `INVALID_ARGUMENT` for values that `putWrites` cannot store. */
export function checkPutWrites(writes: unknown, taskId: unknown, taskPath: unknown): void {
  if (!Array.isArray(writes)) invalid("putWrites: writes must be an array; pass [[channel, value], …]");
  for (const [index, write] of writes.entries()) {
    if (!Array.isArray(write) || typeof write[0] !== "string")
      invalid(`putWrites: writes[${index}] must be a channel's name and a value; pass [channel, value]`);
  }
  const problem = isId(taskId);
  if (problem) invalid(`putWrites: taskId ${problem}`);
  if (typeof taskPath !== "string") invalid("putWrites: taskPath must be a string; leave it out for none");
}

/** @throws StoreError `INVALID_ARGUMENT` for invalid options of `list`. */
export function checkListOptions(options: unknown): asserts options is CheckpointListOptions {
  checkObject("list: options", options, "leave them out for none");
  const { limit, filter, before } = options as Record<string, unknown>;
  checkLimit("list: limit", limit);
  if (filter !== undefined) checkObject("list: filter", filter, "leave it out for none");
  if (before !== undefined) checkObject("list: before", before, "pass the config of a checkpoint");
}

/** @throws StoreError `INVALID_ARGUMENT` for invalid options of `getDeltaChannelHistory`. */
export function checkDeltaOptions(options: unknown): void {
  const method = "getDeltaChannelHistory";
  checkObject(`${method}: options`, options, "pass { config, channels }");
  const { channels } = options as Record<string, unknown>;
  if (!Array.isArray(channels) || channels.some((channel) => typeof channel !== "string"))
    invalid(`${method}: channels must be an array of strings; pass the names of channels`);
}

/** @throws StoreError `INVALID_ARGUMENT` for invalid options of `prune`, and for none: that would drop all but the newest. */
export function checkPrune(options: unknown): void {
  checkOptions("prune", options ?? null, { threadId: isId, keep: isPositiveInteger, olderThanMs: isCount });
  const { keep, olderThanMs } = options as Record<string, unknown>;
  if (keep === undefined && olderThanMs === undefined) invalid("prune: give keep, olderThanMs, or both");
}
