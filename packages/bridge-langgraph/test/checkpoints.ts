import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  type ChannelVersions,
  type CheckpointTuple,
  emptyCheckpoint,
} from "@langchain/langgraph-checkpoint";
import type { StoreFactory } from "@scrollback/store-core";

export const metadata = { source: "loop", step: 1, parents: {} } as const;

/** The config of a thread, or of one of its checkpoints. */
export function configOf(threadId = "t", checkpointId?: string, namespace = ""): RunnableConfig {
  const id = checkpointId === undefined ? {} : { checkpoint_id: checkpointId };
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, ...id } };
}

/** Puts a checkpoint whose values are all new, and returns its config. */
export async function putValues(
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  id: string,
  values: Record<string, unknown>,
  versions: ChannelVersions = Object.fromEntries(Object.keys(values).map((channel) => [channel, 1])),
): Promise<RunnableConfig> {
  const checkpoint = { ...emptyCheckpoint(), id, channel_values: values, channel_versions: versions };
  return await saver.put(config, checkpoint, metadata, versions);
}

export async function valuesOf(saver: BaseCheckpointSaver, config: RunnableConfig): Promise<unknown> {
  return (await saver.getTuple(config))?.checkpoint.channel_values;
}

export async function listed(tuples: AsyncIterable<CheckpointTuple>): Promise<CheckpointTuple[]> {
  const all: CheckpointTuple[] = [];
  for await (const tuple of tuples) all.push(tuple);
  return all;
}

export async function listedIds(tuples: AsyncIterable<CheckpointTuple>): Promise<string[]> {
  return (await listed(tuples)).map(({ checkpoint }) => checkpoint.id);
}

/** The ids of all threads of a backend. */
export async function threadIds(stores: StoreFactory): Promise<string[]> {
  const found: string[] = [];
  for await (const { threadId } of stores.iterateThreads()) found.push(threadId);
  return found.sort();
}
