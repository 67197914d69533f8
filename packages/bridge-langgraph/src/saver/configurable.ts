import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointListOptions, getCheckpointId } from "@langchain/langgraph-checkpoint";
import { checkOptions, invalid, isId, isObject } from "@scrollback/store-core/driver";
import { isCount, isPositiveInteger } from "@scrollback/store-core/internal";
import { checkLimit, checkObject } from "../checks.ts";

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
export function checkId(what: string, id: unknown): asserts id is string {
  const problem = isId(id);
  if (problem) invalid(`${what} ${problem}`);
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
  checkId(`${method}: configurable.thread_id`, threadId);
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
  checkId(`${method}: configurable.checkpoint_id`, id);
  return id;
}

/** The config of a stored checkpoint, with only these three names. */
export function configOf({ threadId, namespace, checkpointId }: CheckpointAddress): RunnableConfig {
  return {
    configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: checkpointId },
  };
}

/** @throws StoreError `INVALID_ARGUMENT` for invalid options of `list`. */
export function checkListOptions(options: unknown): asserts options is CheckpointListOptions {
  checkObject("list: options", options, "leave them out for none");
  const { limit, filter, before } = options as Record<string, unknown>;
  checkLimit("list: limit", limit);
  if (filter !== undefined) checkObject("list: filter", filter, "leave it out for none");
  if (before !== undefined) checkObject("list: before", before, "pass the config of a checkpoint");
}

/** @throws StoreError `INVALID_ARGUMENT` for invalid options of `prune`, and for none: that would drop all but the newest. */
export function checkPrune(options: unknown): void {
  checkOptions("prune", options ?? null, { threadId: isId, keep: isPositiveInteger, olderThanMs: isCount });
  const { keep, olderThanMs } = options as Record<string, unknown>;
  if (keep === undefined && olderThanMs === undefined) invalid("prune: give keep, olderThanMs, or both");
}
