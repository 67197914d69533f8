import type { RunnableConfig } from "@langchain/core/runnables";
import { getCheckpointId } from "@langchain/langgraph-checkpoint";
import { invalid, isId, isObject } from "@scrollback/store-core/driver";

/** The checkpoint that a config names. */
export interface CheckpointAddress {
  readonly threadId: string;
  readonly namespace: string;
  /** Absent: the latest one. */
  readonly checkpointId?: string;
}

/** The checkpoints of one namespace of a thread. */
export type Namespace = Pick<CheckpointAddress, "threadId" | "namespace">;

/** @throws StoreError `INVALID_ARGUMENT` for an invalid id. */
export function checkThreadId(
  method: string,
  threadId: unknown,
  name = "configurable.thread_id",
): asserts threadId is string {
  const problem = isId(threadId);
  if (problem) invalid(`${method}: ${name} ${problem}`);
}

/** @throws StoreError `INVALID_ARGUMENT` for an invalid config. */
export function checkConfig(method: string, config: unknown): void {
  const problem = isObject(config) ?? isObject((config as RunnableConfig).configurable ?? {});
  if (problem) invalid(`${method}: config ${problem}; pass { configurable: { thread_id: "..." } }`);
}

/** The address in a config; undefined without a thread_id. @throws StoreError `INVALID_ARGUMENT`. */
export function addressOf(method: string, config: RunnableConfig): CheckpointAddress | undefined {
  checkConfig(method, config);
  const threadId: unknown = config.configurable?.thread_id;
  if (threadId === undefined) return undefined;
  checkThreadId(method, threadId);
  const checkpointId = checkpointIdOf(method, config);
  const namespace = namespaceOf(method, config) ?? "";
  return { threadId, namespace, ...(checkpointId !== undefined && { checkpointId }) };
}

/** The address in a config for writing. @throws StoreError `INVALID_ARGUMENT`, also without a thread_id. */
export function requiredAddress(method: string, config: RunnableConfig): CheckpointAddress {
  const address = addressOf(method, config);
  if (address) return address;
  invalid(`${method}: configurable.thread_id is missing; pass { configurable: { thread_id: "..." } }`);
}

/** The namespace of a config, or undefined. @throws StoreError `INVALID_ARGUMENT`. */
export function namespaceOf(method: string, config: RunnableConfig): string | undefined {
  const namespace: unknown = config.configurable?.checkpoint_ns;
  if (namespace === undefined) return undefined;
  if (typeof namespace !== "string" || !namespace.isWellFormed())
    invalid(`${method}: configurable.checkpoint_ns must be a string of well-formed Unicode`);
  return namespace;
}

/** The checkpoint id of a config, or undefined. @throws StoreError `INVALID_ARGUMENT`. */
export function checkpointIdOf(method: string, config: RunnableConfig): string | undefined {
  const id: unknown = getCheckpointId(config);
  if (id === "") return undefined;
  const problem = isId(id);
  if (problem) invalid(`${method}: configurable.checkpoint_id ${problem}`);
  return id as string;
}

/** The config of a stored checkpoint, with only these three names. */
export function configOf({ threadId, namespace, checkpointId }: CheckpointAddress): RunnableConfig {
  return {
    configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId },
  };
}
