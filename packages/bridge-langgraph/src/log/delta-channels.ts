import type { Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/**
 * The `DeltaChannel`s whose value is made of the writes of a checkpoint's ancestors. The checkpoint's own metadata says so: it counts the
 * writes since the last snapshot. Not among them is a channel that was never written; only newer versions of LangGraph tell that.
 *
 * @param has whether the checkpoint has a value of this channel.
 */
export function channelsOfAncestors(
  metadata: CheckpointMetadata,
  { channel_versions: versions }: Pick<Checkpoint, "channel_versions">,
  has: (channel: string) => boolean,
): string[] {
  const { counters_since_delta_snapshot: counters = {} } = metadata;
  const { delta_writes_versioned: isVersioned } = metadata as { readonly delta_writes_versioned?: boolean };
  return Object.keys(counters).filter(
    (channel) => !has(channel) && (isVersioned !== true || Object.hasOwn(versions, channel)),
  );
}
